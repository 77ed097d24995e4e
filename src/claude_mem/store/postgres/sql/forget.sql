-- The statements of forget.py. `-- name: x` opens one; the next line says what it is for.

-- name: bar_session
-- It does not come back by way of its transcript.
INSERT INTO forgotten_sessions (digest) VALUES (:digest) ON CONFLICT DO NOTHING;

-- name: forget_project
-- Nothing is left of it, and nobody of a team has a grant of it: who shared it first does not lose it to the next one.
DELETE FROM projects
WHERE id = :project_id AND NOT EXISTS (SELECT 1 FROM sdk_sessions WHERE project_id = :project_id)
  AND NOT EXISTS (SELECT 1 FROM observations WHERE project_id = :project_id AND superseded_by IS NULL)
  AND NOT EXISTS (SELECT 1 FROM team_grants WHERE project_id = :project_id);
