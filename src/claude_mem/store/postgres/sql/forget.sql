-- The statements of forget.py. `-- name: x` opens one; the next line says what it is for.

-- name: bar_session
-- Prevents a later import from its transcript.
INSERT INTO forgotten_sessions (digest) VALUES (:digest) ON CONFLICT DO NOTHING;

-- name: forget_project
-- Nothing is left of it, and no member has access: whoever shared it first keeps it.
DELETE FROM projects
WHERE id = :project_id AND NOT EXISTS (SELECT 1 FROM sdk_sessions WHERE project_id = :project_id)
  AND NOT EXISTS (SELECT 1 FROM observations WHERE project_id = :project_id AND superseded_by IS NULL)
  AND NOT EXISTS (SELECT 1 FROM team_grants WHERE project_id = :project_id);
