-- The statements of forget.py. `-- name: x` opens one; the next line says what it is for.

-- name: bar_session
-- Prevents a later import from its transcript.
INSERT OR IGNORE INTO forgotten_sessions (digest) VALUES (:digest);

-- name: forget_project
-- Nothing is left of it; where it was superseded, the newer memory stays.
DELETE FROM projects
WHERE id = :project_id AND NOT EXISTS (SELECT 1 FROM sdk_sessions WHERE project_id = :project_id)
  AND NOT EXISTS (SELECT 1 FROM observations INDEXED BY observations_current
                  WHERE project_id = :project_id AND superseded_by IS NULL);
