-- The statements of outbox.py. `-- name: x` opens one; the next line says what it is for.

-- name: team_state
-- Everything that is stored about the team's server.
SELECT name, value FROM team_state;

-- name: set_team_state
-- One of these notes.
INSERT INTO team_state (name, value) VALUES (:name, :value) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: unset_team_state
-- It does not hold any more.
DELETE FROM team_state WHERE name = :name;

-- name: shared_projects
-- The shared projects, with what is queued and what was sent.
SELECT p.id, p.key, p.name, t.prompts FROM team_projects AS t JOIN projects AS p ON p.id = t.project_id ORDER BY p.name, p.key;

-- name: outbox_by_project
-- How many of each project's memories are listed.
SELECT COALESCE(o.project_id, s.project_id) AS project_id, COUNT(*) AS memories
FROM team_outbox AS b
LEFT JOIN observations AS o ON b.kind = 'observation' AND o.id = b.memory_id
LEFT JOIN session_summaries AS y ON b.kind = 'summary' AND y.id = b.memory_id
LEFT JOIN user_prompts AS u ON b.kind = 'prompt' AND u.id = b.memory_id
LEFT JOIN sdk_sessions AS s ON s.id = COALESCE(o.session_id, y.session_id, u.session_id)
GROUP BY 1;

-- name: sent_by_project
-- How many of each project's memories the server has; those being sent are noted before, and listed until it has them.
SELECT COALESCE(o.project_id, s.project_id) AS project_id, COUNT(*) AS memories
FROM team_sent AS b
LEFT JOIN observations AS o ON b.kind = 'observation' AND o.id = b.memory_id
LEFT JOIN session_summaries AS y ON b.kind = 'summary' AND y.id = b.memory_id
LEFT JOIN user_prompts AS u ON b.kind = 'prompt' AND u.id = b.memory_id
LEFT JOIN sdk_sessions AS s ON s.id = COALESCE(o.session_id, y.session_id, u.session_id)
WHERE b.kind <> 'session'
  AND NOT EXISTS (SELECT 1 FROM team_outbox AS l WHERE l.kind = b.kind AND l.memory_id = b.memory_id)
GROUP BY 1;

-- name: share_project
-- Shares a project from now on, with or without prompts.
INSERT INTO team_projects (project_id, prompts) VALUES (:project_id, :prompts)
ON CONFLICT (project_id) DO UPDATE SET prompts = excluded.prompts;

-- name: share_every_project
-- Shares all existing projects.
INSERT INTO team_projects (project_id, prompts) SELECT id, :prompts FROM projects WHERE true
ON CONFLICT (project_id) DO UPDATE SET prompts = excluded.prompts;

-- name: list_observations
-- What was observed before its project was shared.
INSERT INTO team_outbox (kind, memory_id)
SELECT 'observation', o.id FROM team_sessions AS s CROSS JOIN observations AS o ON o.session_id = s.id
WHERE o.project_id IN (SELECT project_id FROM team_projects) AND (:project_id IS NULL OR o.project_id = :project_id)
  AND NOT EXISTS (SELECT 1 FROM team_sent WHERE kind = 'observation' AND memory_id = o.id)
ON CONFLICT (kind, memory_id) DO NOTHING;

-- name: list_summaries
-- Likewise.
INSERT INTO team_outbox (kind, memory_id)
SELECT 'summary', y.id FROM team_sessions AS s CROSS JOIN session_summaries AS y ON y.session_id = s.id
WHERE (:project_id IS NULL OR s.project_id = :project_id)
  AND NOT EXISTS (SELECT 1 FROM team_sent WHERE kind = 'summary' AND memory_id = y.id)
ON CONFLICT (kind, memory_id) DO NOTHING;

-- name: list_prompts
-- Likewise, where prompts are shared.
INSERT INTO team_outbox (kind, memory_id)
SELECT 'prompt', u.id FROM team_sessions AS s CROSS JOIN user_prompts AS u ON u.session_id = s.id
WHERE s.prompts = 1 AND u.prompt IS NOT NULL AND u.private = 0 AND (:project_id IS NULL OR s.project_id = :project_id)
  AND NOT EXISTS (SELECT 1 FROM team_sent WHERE kind = 'prompt' AND memory_id = u.id)
ON CONFLICT (kind, memory_id) DO NOTHING;

-- name: unshare_project
-- Stops listing its changes.
DELETE FROM team_projects WHERE :project_id IS NULL OR project_id = :project_id;

-- name: unlist_unshared
-- Removes what does not belong to a shared project.
DELETE FROM team_outbox
WHERE (kind = 'observation' AND NOT EXISTS (
          SELECT 1 FROM observations AS o WHERE o.id = memory_id
            AND o.project_id IN (SELECT project_id FROM team_projects)
            AND o.session_id IN (SELECT id FROM team_sessions)))
   OR (kind = 'summary' AND NOT EXISTS (
          SELECT 1 FROM session_summaries AS y WHERE y.id = memory_id AND y.session_id IN (SELECT id FROM team_sessions)))
   OR (kind = 'prompt' AND NOT EXISTS (
          SELECT 1 FROM user_prompts AS u WHERE u.id = memory_id
            AND u.session_id IN (SELECT id FROM team_sessions WHERE prompts = 1)));

-- name: take_back_unshared
-- The server is to forget what is of no shared project.
INSERT INTO team_forgets (kind, name)
SELECT kind, name FROM team_sent
WHERE (kind = 'observation' AND NOT EXISTS (
          SELECT 1 FROM observations AS o WHERE o.id = memory_id
            AND o.project_id IN (SELECT project_id FROM team_projects)
            AND o.session_id IN (SELECT id FROM team_sessions)))
   OR (kind = 'summary' AND NOT EXISTS (
          SELECT 1 FROM session_summaries AS y WHERE y.id = memory_id AND y.session_id IN (SELECT id FROM team_sessions)))
   OR (kind = 'prompt' AND NOT EXISTS (
          SELECT 1 FROM user_prompts AS u WHERE u.id = memory_id
            AND u.session_id IN (SELECT id FROM team_sessions WHERE prompts = 1)))
   OR (kind = 'session' AND memory_id NOT IN (SELECT id FROM team_sessions));

-- name: unsend_taken_back
-- It does not have them then.
DELETE FROM team_sent WHERE name IN (SELECT name FROM team_forgets);

-- name: due_outbox
-- What may be sent now, what it is about first.
SELECT b.kind, b.memory_id AS id, b.changes, b.at_once, p.id AS project_id, p.root, s.id AS session_row,
       COALESCE(o.prompt_number, y.prompt_number, u.prompt_number) AS prompt_number,
       COALESCE(o.created_at_epoch, y.created_at_epoch, u.created_at_epoch) AS at,
       CASE b.kind WHEN 'observation' THEN o.branch ELSE s.branch END AS branch,
       CASE b.kind WHEN 'observation' THEN o.commit_sha ELSE s.commit_sha END AS "commit",
       EXISTS (SELECT 1 FROM team_sent AS t WHERE t.kind = b.kind AND t.memory_id = b.memory_id) AS is_known
FROM team_outbox AS b
LEFT JOIN observations AS o ON b.kind = 'observation' AND o.id = b.memory_id
LEFT JOIN session_summaries AS y ON b.kind = 'summary' AND y.id = b.memory_id
LEFT JOIN user_prompts AS u ON b.kind = 'prompt' AND u.id = b.memory_id
JOIN sdk_sessions AS s ON s.id = COALESCE(o.session_id, y.session_id, u.session_id)
JOIN projects AS p ON p.id = COALESCE(o.project_id, s.project_id)
WHERE b.not_before_epoch <= :now
ORDER BY b.kind, b.memory_id LIMIT :limit;

-- name: branches_of_turns
-- On which branches each turn of some sessions worked, in the session's directory or its project's.
SELECT DISTINCT e.session_id, e.prompt_number, e.kind = 'prompt' AS is_prompt,
       COALESCE(e.branch, '@' || e.commit_sha) AS place
FROM sdk_sessions AS s JOIN projects AS p ON p.id = s.project_id JOIN pending_messages AS e ON e.session_id = s.id
WHERE s.id IN (SELECT value FROM json_each(:sessions))
  AND e.kind IN ('prompt', 'tool_use', 'tool_failure', 'said', 'stop', 'stop_failure', 'subagent_stop')
  AND (e.branch IS NOT NULL OR e.commit_sha IS NOT NULL)
  AND (e.cwd IS NULL OR SUBSTR(e.cwd || '/', 1, LENGTH(s.cwd) + 1) = s.cwd || '/'
       OR SUBSTR(e.cwd || '/', 1, LENGTH(p.root) + 1) = p.root || '/')
ORDER BY place;

-- name: next_due
-- When the next one may be sent.
SELECT MIN(not_before_epoch) AS at FROM team_outbox;

-- name: outgoing_projects
-- The shared projects of some sessions and observations.
SELECT key, name, named, remote, created_at_epoch AS created_at FROM projects
WHERE id IN (SELECT project_id FROM team_projects)
  AND (id IN (SELECT project_id FROM sdk_sessions WHERE id IN (SELECT value FROM json_each(:sessions)))
       OR id IN (SELECT project_id FROM observations WHERE id IN (SELECT value FROM json_each(:observations))))
ORDER BY id;

-- name: outgoing_sessions
-- Some sessions. The prompt is sent only if prompts are shared; the title, too, is made from it.
SELECT s.id AS row_id, s.claude_session_id AS session_id, p.key AS project, s.client, s.status, s.branch,
       s.commit_sha AS "commit", s.end_reason, s.created_at_epoch AS created_at, s.updated_at_epoch AS updated_at,
       s.completed_at_epoch AS completed_at, IIF(t.prompts, s.title, NULL) AS title,
       IIF(t.prompts, s.subtitle, NULL) AS subtitle, IIF(t.prompts, s.first_user_prompt, NULL) AS first_user_prompt,
       IIF(t.prompts, s.prompt_counter, NULL) AS prompt_counter
FROM sdk_sessions AS s JOIN projects AS p ON p.id = s.project_id JOIN team_projects AS t ON t.project_id = p.id
WHERE s.id IN (SELECT value FROM json_each(:sessions))
ORDER BY s.id;

-- name: outgoing_prompts
-- Some prompts.
SELECT m.id AS row_id, s.claude_session_id AS session_id, m.prompt_number AS number, m.prompt AS text, m.private,
       m.created_at_epoch AS at, m.session_id AS session_row
FROM user_prompts AS m JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.id IN (SELECT value FROM json_each(:ids))
ORDER BY m.id;

-- name: outgoing_observations
-- Some observations. What is pinned here is one's own affair, unless it is pinned for the team. `asked` as of summaries.
SELECT m.id AS row_id, s.claude_session_id AS session_id, IIF(m.project_id <> s.project_id, p.key, NULL) AS project,
       m.type, m.title, m.subtitle, m.narrative, m.facts, m.concepts, m.files_read, m.files_modified, m.text,
       m.prompt_number, m.client, m.branch, m.commit_sha AS "commit", o.created_at_epoch AS older_at,
       o.content_key AS older_key, t.claude_session_id AS older_session, m.provider,
       EXISTS (SELECT 1 FROM team_pins AS n WHERE n.observation_id = m.id) AS pinned, m.wrong, m.source,
       m.created_at_epoch AS at, m.session_id AS session_row,
       (SELECT GROUP_CONCAT(u.prompt, char(10)) FROM user_prompts AS u JOIN team_sessions AS q ON q.id = u.session_id
        WHERE u.session_id = m.session_id AND q.prompts = 0) AS asked
FROM observations AS m JOIN sdk_sessions AS s ON s.id = m.session_id
LEFT JOIN projects AS p ON p.id = m.project_id
LEFT JOIN observations AS o ON o.id = m.supersedes
LEFT JOIN sdk_sessions AS t ON t.id = o.session_id
WHERE m.id IN (SELECT value FROM json_each(:ids))
ORDER BY m.id;

-- name: outgoing_summaries
-- Some summaries. `asked`: what was asked in the session, where prompts are not shared.
SELECT m.id AS row_id, s.claude_session_id AS session_id, m.request, m.investigated, m.learned, m.completed,
       m.next_steps, m.files_read, m.files_edited, m.notes, m.prompt_number, m.source, m.created_at_epoch AS at,
       m.session_id AS session_row,
       (SELECT GROUP_CONCAT(u.prompt, char(10)) FROM user_prompts AS u JOIN team_sessions AS q ON q.id = u.session_id
        WHERE u.session_id = m.session_id AND q.prompts = 0) AS asked
FROM session_summaries AS m JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.id IN (SELECT value FROM json_each(:ids))
ORDER BY m.id;

-- name: is_listed
-- Whether it is still to be sent as it was read.
SELECT 1 FROM team_outbox WHERE kind = :kind AND memory_id = :id AND changes = :changes;

-- name: forget_former_name
-- What the server has of it under another name is to go.
INSERT INTO team_forgets (kind, name)
SELECT kind, name FROM team_sent WHERE kind = :kind AND memory_id = :id AND name <> :name;

-- name: note_sent
-- The name under which the server has the memory, or will have it.
INSERT INTO team_sent (kind, memory_id, name) VALUES (:kind, :id, :name)
ON CONFLICT (kind, memory_id) DO UPDATE SET name = excluded.name;

-- name: note_session_sent
-- Likewise of its session.
INSERT INTO team_sent (kind, memory_id, name)
SELECT 'session', id, :name FROM sdk_sessions WHERE claude_session_id = :session
ON CONFLICT (kind, memory_id) DO UPDATE SET name = excluded.name;

-- name: unlist_sent
-- Records that it is on the server; changes in the meantime stay queued.
DELETE FROM team_outbox WHERE kind = :kind AND memory_id = :id AND changes = :changes;

-- name: postpone_outbox
-- It waits, for a reason.
UPDATE team_outbox SET not_before_epoch = :until, reason = :reason WHERE kind = :kind AND memory_id = :id;

-- name: judge_again
-- Whether it must wait is looked at now.
UPDATE team_outbox SET not_before_epoch = 0;

-- name: send_at_once
-- Whatever their branches.
UPDATE team_outbox SET not_before_epoch = 0, at_once = 1, reason = NULL;

-- name: send_project_at_once
-- Likewise of one project.
UPDATE team_outbox SET not_before_epoch = 0, at_once = 1, reason = NULL
WHERE (kind = 'observation' AND memory_id IN (SELECT id FROM observations WHERE project_id = :project_id))
   OR (kind = 'summary' AND memory_id IN (
          SELECT y.id FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id
          WHERE s.project_id = :project_id))
   OR (kind = 'prompt' AND memory_id IN (
          SELECT u.id FROM user_prompts AS u JOIN sdk_sessions AS s ON s.id = u.session_id
          WHERE s.project_id = :project_id));

-- name: outbox_waiting
-- How many wait, and why.
SELECT CASE WHEN not_before_epoch > :now THEN reason END AS reason, COUNT(*) AS memories FROM team_outbox GROUP BY 1;

-- name: team_forgets
-- What the server is to forget, the first first.
SELECT id, name FROM team_forgets ORDER BY id LIMIT :limit;

-- name: count_team_forgets
-- How many those are.
SELECT COUNT(*) FROM team_forgets;

-- name: team_forgotten
-- The server knows.
DELETE FROM team_forgets WHERE id IN (SELECT value FROM json_each(:ids));

-- name: unlist_team_forgets
-- The server need not be notified: it has notified us.
DELETE FROM team_forgets WHERE name IN (SELECT value FROM json_each(:names));

-- name: note_acknowledgement
-- A deletion was applied here, or was not.
INSERT INTO team_acknowledgements (id, answer) VALUES (:id, :answer) ON CONFLICT (id) DO UPDATE SET answer = excluded.answer;

-- name: team_acknowledgements
-- What is yet to be acknowledged.
SELECT id, answer FROM team_acknowledgements ORDER BY answer, id LIMIT :limit;

-- name: hold_forget
-- Records that a deletion waits for the user's consent.
INSERT OR IGNORE INTO team_held_forgets (id, kind, digest, at, member, project_id, memories)
VALUES (:id, :of, :digest, :at, :by, :project_id, :memories);

-- name: held_forgets
-- Those that do.
SELECT id, kind AS "of", digest, at, member AS by FROM team_held_forgets ORDER BY id;

-- name: unhold_forget
-- It does not any more.
DELETE FROM team_held_forgets WHERE id = :id;

-- name: held_by_project
-- How many of the user's own memories wait for consent to be deleted, and who deleted them.
SELECT p.name AS project, h.member AS by, SUM(h.memories) AS memories, COUNT(*) AS forgets
FROM team_held_forgets AS h JOIN projects AS p ON p.id = h.project_id GROUP BY h.project_id, h.member ORDER BY 1, 2;

-- name: note_loss
-- Records how many of the user's own memories were deleted without consent.
INSERT INTO team_losses (project_id, at_epoch, memories) VALUES (:project_id, :now, :memories);

-- name: losses_since
-- How many of a project's memories that were, since a given time.
SELECT COALESCE(SUM(memories), 0) AS memories FROM team_losses WHERE project_id = :project_id AND at_epoch > :since;

-- name: own_memories
-- How many memories of a project are the user's own.
SELECT (SELECT COUNT(*) FROM observations AS o JOIN sdk_sessions AS s ON s.id = o.session_id
        WHERE o.project_id = :project_id AND s.author IS NULL)
     + (SELECT COUNT(*) FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id
        WHERE s.project_id = :project_id AND s.author IS NULL)
     + (SELECT COUNT(*) FROM user_prompts AS u JOIN sdk_sessions AS s ON s.id = u.session_id
        WHERE s.project_id = :project_id AND s.author IS NULL) AS memories;

-- name: memories_of_session
-- How many a session has.
SELECT (SELECT COUNT(*) FROM observations WHERE session_id = s.id) + (SELECT COUNT(*) FROM session_summaries WHERE session_id = s.id)
     + (SELECT COUNT(*) FROM user_prompts WHERE session_id = s.id) AS memories
FROM sdk_sessions AS s WHERE s.claude_session_id = :session;

-- name: count_team_acknowledgements
-- How many those are.
SELECT COUNT(*) FROM team_acknowledgements;

-- name: team_acknowledged
-- The server knows.
DELETE FROM team_acknowledgements WHERE id IN (SELECT value FROM json_each(:ids));

-- name: unbar
-- Allows it to be shared again, because its author deleted it and may share it again.
DELETE FROM team_barred WHERE name IN (SELECT value FROM json_each(:names));

-- name: unbar_sessions
-- Likewise for what was in sessions that were deleted completely.
DELETE FROM team_barred WHERE EXISTS (
    SELECT 1 FROM json_each(:names) AS n
    WHERE n.value LIKE '%/session' AND SUBSTR(team_barred.name, 1, LENGTH(n.value) - 7) = SUBSTR(n.value, 1, LENGTH(n.value) - 7));

-- name: barred
-- Which of these were forgotten here.
SELECT name FROM team_barred WHERE name IN (SELECT value FROM json_each(:names));

-- name: observations_named_at
-- Observations of others, and those that were sent, with a given time.
SELECT o.id, s.claude_session_id AS session, o.created_at_epoch AS at, o.content_key, t.name, o.project_id
FROM observations AS o JOIN sdk_sessions AS s ON s.id = o.session_id
LEFT JOIN team_sent AS t ON t.kind = 'observation' AND t.memory_id = o.id
WHERE o.created_at_epoch = :at AND (s.author IS NOT NULL OR t.name IS NOT NULL);

-- name: summaries_named_at
-- Likewise summaries.
SELECT y.id, s.claude_session_id AS session, y.created_at_epoch AS at, t.name, s.project_id
FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id
LEFT JOIN team_sent AS t ON t.kind = 'summary' AND t.memory_id = y.id
WHERE y.created_at_epoch = :at AND (s.author IS NOT NULL OR t.name IS NOT NULL);

-- name: prompts_named_at
-- Likewise prompts.
SELECT u.id, s.claude_session_id AS session, u.prompt_number AS number, t.name, s.project_id
FROM user_prompts AS u JOIN sdk_sessions AS s ON s.id = u.session_id
LEFT JOIN team_sent AS t ON t.kind = 'prompt' AND t.memory_id = u.id
WHERE u.created_at_epoch = :at AND (s.author IS NOT NULL OR t.name IS NOT NULL);

-- name: sessions_named_at
-- Likewise sessions.
SELECT claude_session_id AS session, NULL AS name, project_id FROM sdk_sessions WHERE author > '' AND created_at_epoch = :at
UNION ALL
SELECT s.claude_session_id, t.name, s.project_id FROM team_sent AS t CROSS JOIN sdk_sessions AS s ON s.id = t.memory_id
WHERE t.kind = 'session' AND s.created_at_epoch = :at;

-- name: sent_of_session
-- What the server has of a session, or is about to have.
SELECT t.kind, t.memory_id AS id FROM team_sent AS t
LEFT JOIN observations AS o ON t.kind = 'observation' AND o.id = t.memory_id
LEFT JOIN session_summaries AS y ON t.kind = 'summary' AND y.id = t.memory_id
LEFT JOIN user_prompts AS u ON t.kind = 'prompt' AND u.id = t.memory_id
WHERE COALESCE(o.session_id, y.session_id, u.session_id) = (SELECT id FROM sdk_sessions WHERE claude_session_id = :session)
ORDER BY t.kind, t.memory_id;

-- name: sessions_of_others
-- The sessions of other members.
SELECT claude_session_id AS session, author FROM sdk_sessions WHERE author > '' ORDER BY author, created_at_epoch;

-- name: received
-- How much is here of whom.
SELECT author, SUM((SELECT COUNT(*) FROM observations AS o WHERE o.session_id = s.id)
                   + (SELECT COUNT(*) FROM session_summaries AS y WHERE y.session_id = s.id)) AS memories
FROM sdk_sessions AS s WHERE s.author > '' GROUP BY author ORDER BY author;

-- name: set_team_pin
-- Pins one of the user's own memories for the team.
INSERT OR IGNORE INTO team_pins (observation_id)
SELECT o.id FROM observations AS o JOIN sdk_sessions AS s ON s.id = o.session_id
WHERE o.id = :id AND s.author IS NULL;

-- name: note_team_pin
-- A member has pinned it for the team.
INSERT OR IGNORE INTO team_pins (observation_id) VALUES (:id);

-- name: unset_team_pin
-- Not any more.
DELETE FROM team_pins WHERE observation_id = :id;

-- name: marks_of
-- Whether one is pinned here, and whether for the team; whether it is marked wrong.
SELECT o.id, o.pinned, o.wrong, EXISTS (SELECT 1 FROM team_pins AS t WHERE t.observation_id = o.id) AS team
FROM observations AS o INDEXED BY observations_by_time CROSS JOIN sdk_sessions AS s ON s.id = o.session_id
WHERE o.created_at_epoch = :at AND o.content_key IS :content_key AND s.claude_session_id = :session;

-- name: team_branches
-- What is known of a project's branches.
SELECT branch, tip, ahead, merged_at_epoch AS merged_at FROM team_branches WHERE project_id = :project_id;

-- name: note_branch
-- What git says of one now.
INSERT INTO team_branches (project_id, branch, tip, ahead, merged_at_epoch)
VALUES (:project_id, :branch, :tip, :ahead, :merged_at)
ON CONFLICT (project_id, branch) DO UPDATE
    SET tip = excluded.tip, ahead = excluded.ahead, merged_at_epoch = excluded.merged_at_epoch;

-- name: leave_team
-- Deletes everything about sharing and the server, table by table.
DELETE FROM team_projects;

-- name: leave_outbox
-- Likewise.
DELETE FROM team_outbox;

-- name: leave_sent
-- Likewise.
DELETE FROM team_sent;

-- name: leave_forgets
-- Likewise.
DELETE FROM team_forgets;

-- name: leave_acknowledgements
-- Likewise.
DELETE FROM team_acknowledgements;

-- name: leave_held
-- Likewise.
DELETE FROM team_held_forgets;

-- name: leave_losses
-- Likewise.
DELETE FROM team_losses;

-- name: leave_barred
-- Likewise.
DELETE FROM team_barred;

-- name: leave_branches
-- Likewise.
DELETE FROM team_branches;

-- name: leave_pins
-- Likewise.
DELETE FROM team_pins;

-- name: leave_state
-- Likewise.
DELETE FROM team_state;
