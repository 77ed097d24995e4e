-- A project goes by several keys once others were merged into it, and by a name that a person may have given it.

ALTER TABLE projects ADD COLUMN named INTEGER NOT NULL DEFAULT 0 CHECK (named IN (0, 1));

CREATE TABLE project_aliases (
    key        TEXT PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE INDEX project_aliases_by_project ON project_aliases (project_id);

-- Sessions that were forgotten, by a digest of their ids: a transcript of one is not taken in again.
CREATE TABLE forgotten_sessions (
    digest TEXT PRIMARY KEY
) WITHOUT ROWID;
