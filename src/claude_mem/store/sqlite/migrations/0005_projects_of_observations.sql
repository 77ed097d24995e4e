-- Observations know their project by its id: directories of one name in different places are different projects.

ALTER TABLE observations ADD COLUMN project_id INTEGER REFERENCES projects(id);

UPDATE observations SET project_id = (SELECT s.project_id FROM sdk_sessions AS s WHERE s.id = observations.session_id);

-- What was superseded by another project's observation, for their names were the same, stands again.
UPDATE observations SET superseded_by = NULL
WHERE superseded_by IS NOT NULL
  AND project_id <> (SELECT newer.project_id FROM observations AS newer WHERE newer.id = observations.superseded_by);
UPDATE observations SET supersedes = NULL
WHERE supersedes IS NOT NULL
  AND project_id <> (SELECT older.project_id FROM observations AS older WHERE older.id = observations.supersedes);

-- Only of what stands: that something was superseded a thousand times makes nothing slower to find.
DROP INDEX observations_by_content;
CREATE INDEX observations_by_content ON observations (project_id, content_key, created_at_epoch)
    WHERE content_key IS NOT NULL AND superseded_by IS NULL;
CREATE INDEX observations_standing ON observations (project_id, created_at_epoch) WHERE superseded_by IS NULL;

-- Whether a session's turn has ended is asked of every session with waiting jobs, not of every job.
CREATE INDEX pending_messages_stops ON pending_messages (session_id) WHERE kind = 'stop' AND state = 'ready';
