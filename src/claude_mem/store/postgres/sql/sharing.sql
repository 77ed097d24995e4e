-- The statements of sharing.py. `-- name: x` opens one; the next line says what it is for.

-- name: open_project
-- What the member may do in a project, which is made if it is new.
SELECT open_project(:key, :name, :remote, :at, :at_iso) AS level;

-- name: level_in
-- What the member may do in a project that is there.
SELECT g.level FROM projects AS p JOIN team_grants AS g ON g.project_id = p.id AND g.member = :member
WHERE p.id = COALESCE((SELECT project_id FROM project_aliases WHERE key = :key),
                      (SELECT o.id FROM projects AS o WHERE o.key = :key));

-- name: others_sessions
-- Which of these sessions belong to another member.
SELECT others_sessions(CAST(:given AS json));

-- name: misplaced_sessions
-- Which of these sessions are in another project than stated, because memories shared in one project must not appear in another.
SELECT s.claude_session_id FROM json_array_elements(CAST(:given AS json)) AS j
JOIN sdk_sessions AS s ON s.claude_session_id = (j ->> 0)
WHERE s.project_id <> COALESCE((SELECT a.project_id FROM project_aliases AS a WHERE a.key = (j ->> 1)),
                               (SELECT p.id FROM projects AS p WHERE p.key = (j ->> 1)), -1);

-- name: forgotten_names
-- Which of these digests belong to deleted memories.
SELECT forgotten_names(CAST(:given AS json));

-- name: oldest_open
-- The oldest open transaction.
SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint);

-- name: cluster
-- Which PostgreSQL server numbers the transactions.
SELECT to_hex(system_identifier) FROM pg_control_system();

-- name: adopt_restored_changes
-- What was shared by transactions that are yet to come, is shared now.
UPDATE team_changes SET transaction = pg_current_xact_id() WHERE transaction > pg_current_xact_id();

-- name: adopt_restored_grants
-- Likewise grants.
UPDATE team_grants SET transaction = pg_current_xact_id() WHERE transaction > pg_current_xact_id();

-- name: adopt_restored_forgets
-- Likewise forgets.
UPDATE team_forgets SET transaction = pg_current_xact_id() WHERE transaction > pg_current_xact_id();

-- name: projects_not_pulled
-- Whether the machine is to read a project for the first time.
SELECT 1 FROM UNNEST(readable_projects()) AS p (id)
WHERE NOT EXISTS (SELECT 1 FROM team_pulls AS t
                  WHERE t.project_id = p.id AND t.member = :member AND t.machine = :machine)
LIMIT 1;

-- name: note_pulls
-- Records that the machine pulls these projects from now on.
INSERT INTO team_pulls (member, machine, project_id)
SELECT :member, :machine, project_id FROM UNNEST(readable_projects()) AS project_id ON CONFLICT DO NOTHING;

-- name: any_grant_of
-- Whether the member may read a project only since some transactions.
SELECT 1 FROM team_grants WHERE member = :member
  AND transaction >= CAST(CAST(:since AS text) AS xid8) AND transaction < CAST(CAST(:until AS text) AS xid8) LIMIT 1;

-- name: changes_after
-- What others have sent, between two places; `until`: only of projects that the member may read since some transactions.
SELECT c.kind, c.memory_id, CAST(c.transaction AS text) AS transaction FROM team_changes AS c
WHERE (c.transaction, c.kind, c.memory_id) > (CAST(CAST(:after AS text) AS xid8), :after_kind, :after_id)
  AND (c.transaction, c.kind, c.memory_id) <= (CAST(CAST(:last AS text) AS xid8), :last_kind, :last_id)
  AND (c.member IS DISTINCT FROM :member OR c.machine IS DISTINCT FROM :machine)
  AND (:until IS NULL OR c.project_id IN (
      SELECT g.project_id FROM team_grants AS g WHERE g.member = :member
        AND g.transaction >= CAST(CAST(:grants AS text) AS xid8) AND g.transaction < CAST(CAST(:until AS text) AS xid8)))
ORDER BY c.transaction, c.kind, c.memory_id LIMIT :limit;

-- name: all_changes_after
-- What anybody has sent since a place, before a transaction.
SELECT c.kind, c.memory_id, CAST(c.transaction AS text) AS transaction FROM team_changes AS c
WHERE (c.transaction, c.kind, c.memory_id) > (CAST(CAST(:after AS text) AS xid8), :after_kind, :after_id)
  AND c.transaction < CAST(CAST(:last AS text) AS xid8)
ORDER BY c.transaction, c.kind, c.memory_id LIMIT :limit;

-- name: forgets_to_carry_out
-- What a machine has not acknowledged.
SELECT f.id, f.kind, f.digest, f.at, f.member FROM team_acknowledgements AS a JOIN team_forgets AS f ON f.id = a.forget_id
WHERE a.member = :member AND a.machine = :machine AND a.acknowledged_at_epoch IS NULL AND a.answer IS NULL
ORDER BY f.id LIMIT :limit;

-- name: acknowledge
-- A machine has applied some deletions.
UPDATE team_acknowledgements SET acknowledged_at_epoch = :now
WHERE member = :member AND machine = :machine AND acknowledged_at_epoch IS NULL
  AND forget_id IN (SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(:ids AS json)) AS value);

-- name: answer_forgets
-- A machine has not applied some deletions, because its user refused them.
UPDATE team_acknowledgements SET answer = :answer
WHERE member = :member AND machine = :machine AND acknowledged_at_epoch IS NULL
  AND forget_id IN (SELECT CAST(value AS bigint) FROM json_array_elements_text(CAST(:ids AS json)) AS value);

-- name: forgets
-- The newest, each with the machines that have not acknowledged it.
SELECT f.id, f.kind, f.project, f.member, f.created_at_epoch AS created_at,
       (SELECT COALESCE(CAST(json_agg(json_build_array(a.member || '/' || a.machine, a.answer) ORDER BY a.member, a.machine) AS text), '[]')
        FROM team_acknowledgements AS a WHERE a.forget_id = f.id AND a.acknowledged_at_epoch IS NULL) AS waiting_for
FROM team_forgets AS f ORDER BY f.id DESC LIMIT :limit;

-- name: forgets_of
-- What was forgotten of some names, by their digests.
SELECT f.id, f.digest FROM team_forgets AS f
WHERE f.digest IN (SELECT value FROM json_array_elements_text(CAST(:digests AS json)) AS value);

-- name: deletable_observation
-- An observation by its name.
SELECT 'observation' AS kind, m.id, m.project_id, p.key AS project, m.created_at_epoch AS at
FROM observations AS m JOIN sdk_sessions AS s ON s.id = m.session_id JOIN projects AS p ON p.id = m.project_id
WHERE s.claude_session_id = :session AND m.created_at_epoch = :number AND m.content_key IS NOT DISTINCT FROM :content_key
ORDER BY m.id LIMIT 1;

-- name: deletable_summary
-- A summary.
SELECT 'summary' AS kind, m.id, s.project_id, p.key AS project, m.created_at_epoch AS at
FROM session_summaries AS m JOIN sdk_sessions AS s ON s.id = m.session_id JOIN projects AS p ON p.id = s.project_id
WHERE s.claude_session_id = :session AND m.created_at_epoch = :number ORDER BY m.id LIMIT 1;

-- name: deletable_prompt
-- A prompt, by its number.
SELECT 'prompt' AS kind, m.id, s.project_id, p.key AS project, m.created_at_epoch AS at
FROM user_prompts AS m JOIN sdk_sessions AS s ON s.id = m.session_id JOIN projects AS p ON p.id = s.project_id
WHERE s.claude_session_id = :session AND m.prompt_number = :number;

-- name: deletable_session
-- A session as a whole.
SELECT 'session' AS kind, s.id, s.project_id, p.key AS project, s.created_at_epoch AS at
FROM sdk_sessions AS s JOIN projects AS p ON p.id = s.project_id WHERE s.claude_session_id = :session;

-- name: begin_asking
-- What follows is undone.
SAVEPOINT asking;

-- name: ask_to_delete_{kind}
-- Whether the rules let the member delete it.
DELETE FROM {table} WHERE id = :id;

-- name: ask_to_delete_session
-- The same of a session.
DELETE FROM sdk_sessions WHERE id = :id;

-- name: end_asking
-- Undoes the trial deletion.
ROLLBACK TO SAVEPOINT asking;

-- name: become_owner
-- Until the transaction ends, or until it becomes the member again.
SELECT set_config('role', CAST(pg_get_userbyid(nspowner) AS text), TRUE) FROM pg_namespace WHERE nspname = 'claude_mem';

-- name: become_member
-- The rules bind it again.
SET LOCAL ROLE claude_mem_member;

-- name: lock_project
-- Blocks first pulls of a project in the meantime.
SELECT 1 FROM projects WHERE id = :id FOR UPDATE;

-- name: add_forget
-- Without content.
INSERT INTO team_forgets (kind, digest, at, project_id, project, member, created_at_epoch)
VALUES (:kind, :digest, :at, :project_id, :project, :member, :now)
ON CONFLICT (kind, digest) DO UPDATE SET digest = excluded.digest
RETURNING id;

-- name: ask_machines
-- Of those that have it: those that pull of the project, and the one that sent it. The one that asks for it does it itself.
INSERT INTO team_acknowledgements (forget_id, member, machine)
SELECT :forget_id, m.member, m.machine
FROM (SELECT t.member, t.machine FROM team_pulls AS t WHERE t.project_id = :project_id
      UNION SELECT c.member, c.machine FROM team_changes AS c WHERE c.kind = :kind AND c.memory_id = :id) AS m
WHERE m.machine IS NOT NULL AND NOT (m.member = :member AND m.machine = :machine)
ON CONFLICT DO NOTHING;

-- name: ask_machines_of_session
-- The same of a session as a whole.
INSERT INTO team_acknowledgements (forget_id, member, machine)
SELECT :forget_id, m.member, m.machine
FROM (SELECT t.member, t.machine FROM team_pulls AS t WHERE t.project_id = :project_id
      UNION SELECT c.member, c.machine FROM observations AS o
            JOIN team_changes AS c ON c.kind = 'observation' AND c.memory_id = o.id WHERE o.session_id = :id
      UNION SELECT c.member, c.machine FROM session_summaries AS y
            JOIN team_changes AS c ON c.kind = 'summary' AND c.memory_id = y.id WHERE y.session_id = :id
      UNION SELECT t.member, t.machine FROM observations AS o
            JOIN team_pulls AS t ON t.project_id = o.project_id WHERE o.session_id = :id) AS m
WHERE m.machine IS NOT NULL AND NOT (m.member = :member AND m.machine = :machine) AND :kind = 'session'
ON CONFLICT DO NOTHING;

-- name: ask_machines_of_others
-- All machines that pull the project, except the member's own.
INSERT INTO team_acknowledgements (forget_id, member, machine)
SELECT :forget_id, t.member, t.machine FROM team_pulls AS t WHERE t.project_id = :project_id AND t.member <> :member
ON CONFLICT DO NOTHING;

-- name: note_forget
-- For the admins.
SELECT note_deed('forget', :subject);

-- name: sessions_of_author
-- Everything that a member has shared.
SELECT s.claude_session_id AS name, s.project_id, p.key AS project, s.created_at_epoch AS at
FROM sdk_sessions AS s JOIN projects AS p ON p.id = s.project_id WHERE s.author = :member ORDER BY s.id;

-- name: note_leaving
-- For the admins.
INSERT INTO team_audit (created_at_epoch, member, key_id, action, subject)
VALUES (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint), :member, :key_id, 'leave', CAST(:member AS text) || '/' || :machine);

-- name: end_key
-- It is not valid any more.
UPDATE team_keys SET revoked_at_epoch = :now WHERE id = :id AND revoked_at_epoch IS NULL;
