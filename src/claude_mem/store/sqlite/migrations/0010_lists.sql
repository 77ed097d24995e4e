-- What lists and figures of a hundred thousand observations go by. No statement goes by a project's name.

DROP INDEX observations_by_project;
CREATE INDEX observations_by_type ON observations (type, project_id, created_at_epoch);
CREATE INDEX observations_wrong ON observations (project_id) WHERE wrong = 1;
