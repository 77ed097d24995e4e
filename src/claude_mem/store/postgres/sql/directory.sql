-- The statements of directory.py. `-- name: x` opens one; the next line says what it is for.

-- name: key_by_digest
-- A key that is valid.
SELECT k.id, k.member, k.machine, k.scopes, k.expires_at_epoch AS expires_at, k.used_at_epoch AS used_at, m.admin
FROM team_keys AS k JOIN team_members AS m ON m.name = k.member
WHERE k.digest = decode(:digest, 'hex') AND k.revoked_at_epoch IS NULL AND m.removed_at_epoch IS NULL
  AND (k.expires_at_epoch IS NULL OR k.expires_at_epoch > :now);

-- name: note_key_use
-- To the hour.
UPDATE team_keys SET used_at_epoch = :hour WHERE id = :id AND COALESCE(used_at_epoch, 0) < :hour;

-- name: reserve_project
-- A project that nobody has shared yet.
INSERT INTO projects (key, name, root, created_at, created_at_epoch) VALUES (:key, :name, '', :at_iso, :at) RETURNING id;

-- name: server_id
-- The id by which machines recognize the team.
SELECT id FROM team_server;

-- name: lock_members
-- Two cannot be the first.
LOCK TABLE team_members IN SHARE ROW EXCLUSIVE MODE;

-- name: any_member
-- Whether there is a team.
SELECT 1 FROM team_members LIMIT 1;

-- name: any_admin
-- Whether there is an admin.
SELECT 1 FROM team_members WHERE admin AND removed_at_epoch IS NULL LIMIT 1;

-- name: add_member
-- A member, or one that was removed.
INSERT INTO team_members AS m (name, admin, created_at_epoch) VALUES (:name, :admin <> 0, :now)
ON CONFLICT (name) DO UPDATE SET admin = excluded.admin, created_at_epoch = excluded.created_at_epoch, removed_at_epoch = NULL
WHERE m.removed_at_epoch IS NOT NULL;

-- name: own_what_is_there
-- One person's database becomes a team's: what is in it is the first admin's.
UPDATE sdk_sessions SET author = :member WHERE author IS NULL;

-- name: share_what_is_there
-- And its projects.
INSERT INTO team_grants (member, project_id, level) SELECT :member, id, 'admin' FROM projects ON CONFLICT DO NOTHING;

-- name: list_observations_as_changes
-- They can be pulled.
INSERT INTO team_changes (kind, memory_id, project_id)
SELECT 'observation', id, project_id FROM observations WHERE project_id IS NOT NULL ON CONFLICT DO NOTHING;

-- name: list_summaries_as_changes
-- The same of summaries.
INSERT INTO team_changes (kind, memory_id, project_id)
SELECT 'summary', y.id, s.project_id FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id
ON CONFLICT DO NOTHING;

-- name: list_prompts_as_changes
-- The same of prompts.
INSERT INTO team_changes (kind, memory_id, project_id)
SELECT 'prompt', u.id, s.project_id FROM user_prompts AS u JOIN sdk_sessions AS s ON s.id = u.session_id
WHERE u.prompt IS NOT NULL ON CONFLICT DO NOTHING;

-- name: team_members
-- All members, and how many valid keys each has.
SELECT m.name, m.admin, m.created_at_epoch AS created_at,
       (SELECT COUNT(*) FROM team_keys AS k WHERE k.member = m.name AND k.revoked_at_epoch IS NULL
        AND (k.expires_at_epoch IS NULL OR k.expires_at_epoch > :now)) AS keys
FROM team_members AS m WHERE m.removed_at_epoch IS NULL ORDER BY m.name;

-- name: member
-- A member who was not removed and is visible to the caller.
SELECT name FROM team_members WHERE name = :name AND removed_at_epoch IS NULL;

-- name: is_member
-- Whether there is one, also for those who manage a project only.
SELECT 1 WHERE is_member(:name);

-- name: remove_member
-- Removes a member.
UPDATE team_members SET removed_at_epoch = :now, admin = FALSE WHERE name = :name AND removed_at_epoch IS NULL;

-- name: end_grants_of
-- Removes all access of a member.
DELETE FROM team_grants WHERE member = :member;

-- name: revoke_keys_of
-- Revokes all keys of a member.
UPDATE team_keys SET revoked_at_epoch = :now WHERE member = :member AND revoked_at_epoch IS NULL;

-- name: team_keys
-- Everything that the caller may see.
SELECT id, member, machine, scopes, created_at_epoch AS created_at, expires_at_epoch AS expires_at,
       revoked_at_epoch AS revoked_at, used_at_epoch AS last_used_at
FROM team_keys ORDER BY id;

-- name: add_key
-- By its digest.
INSERT INTO team_keys (digest, member, machine, scopes, created_at_epoch, expires_at_epoch)
VALUES (decode(:digest, 'hex'), :member, :machine, string_to_array(:scopes, ','), :now, :expires_at)
RETURNING id, member, machine, scopes, created_at_epoch AS created_at, expires_at_epoch AS expires_at;

-- name: revoke_key
-- It is not valid any more.
UPDATE team_keys SET revoked_at_epoch = :now WHERE id = :id AND revoked_at_epoch IS NULL;

-- name: team_grants
-- Who may do what in which project.
SELECT p.key AS project, p.name, g.member, g.level FROM team_grants AS g JOIN projects AS p ON p.id = g.project_id
ORDER BY p.key, g.member;

-- name: grants_of
-- The same of a member.
SELECT p.key AS project, p.name, g.member, g.level FROM team_grants AS g JOIN projects AS p ON p.id = g.project_id
WHERE g.member = :member ORDER BY p.key;

-- name: grant
-- What a member may do in a project.
INSERT INTO team_grants (member, project_id, level) VALUES (:member, :project_id, :level)
ON CONFLICT (member, project_id) DO UPDATE SET level = excluded.level;

-- name: end_grant
-- Nothing any more.
DELETE FROM team_grants WHERE member = :member AND project_id = :project_id;

-- name: audit_entries
-- The newest first.
SELECT id, created_at_epoch AS at, member, COALESCE('k' || key_id, '') AS key, action, subject FROM team_audit
WHERE id < :before ORDER BY id DESC LIMIT :limit;

-- name: prune_audit
-- What is too old to be asked about.
DELETE FROM team_audit WHERE created_at_epoch < :before;
