-- The statements of forget.py. `-- name: x` opens one; the next line says what it is for.

-- name: bar_session
-- It does not come back by way of its transcript.
INSERT OR IGNORE INTO forgotten_sessions (digest) VALUES (:digest);

-- name: forget_project
-- Nothing is left of it: where something was superseded, what did so stands.
DELETE FROM projects
WHERE id = :project_id AND NOT EXISTS (SELECT 1 FROM sdk_sessions WHERE project_id = :project_id)
  AND NOT EXISTS (SELECT 1 FROM observations INDEXED BY observations_current
                  WHERE project_id = :project_id AND superseded_by IS NULL);
