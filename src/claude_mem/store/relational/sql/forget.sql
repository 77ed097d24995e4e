-- The statements of forget.py. `-- name: x` opens one; the next line says what it is for.

-- name: project_by_key
-- A project by its key, which only one has, or by one of a project that was merged into it.
SELECT id, key, name, root FROM projects
WHERE id = COALESCE((SELECT project_id FROM project_aliases WHERE key = :given),
                    (SELECT p.id FROM projects AS p WHERE p.key = :given));

-- name: forget_injections
-- What was injected into a forgotten session.
DELETE FROM injections WHERE claude_session_id = :session;

-- name: sessions_to_forget
-- The session (if it is of the project), or all sessions of the project.
SELECT claude_session_id FROM sdk_sessions
WHERE claude_session_id = :session AND (:project_id IS NULL OR project_id = :project_id)
UNION ALL
SELECT claude_session_id FROM sdk_sessions WHERE :session IS NULL AND project_id = :project_id;

-- name: untitle_session
-- What it was called by is forgotten.
UPDATE sdk_sessions SET title = NULL, subtitle = NULL WHERE id = :session_id;

-- name: summaries_left
-- The texts after which a session may be named now, in order.
SELECT id, request, completed, learned FROM session_summaries WHERE session_id = :session_id ORDER BY id;

-- name: rename_first_prompt
-- The first remaining prompt.
UPDATE sdk_sessions
SET first_user_prompt = (SELECT u.prompt FROM user_prompts AS u
                         WHERE u.session_id = sdk_sessions.id AND u.prompt IS NOT NULL
                         ORDER BY u.prompt_number LIMIT 1)
WHERE id = :session_id;

-- name: session_to_forget
-- A session by the client's own id.
SELECT id, project_id FROM sdk_sessions WHERE claude_session_id = :session;

-- name: forget_session
-- With all that still hangs on it; what it cost is kept.
DELETE FROM sdk_sessions WHERE id = :session_id;

-- name: edited_among
-- Whether a person has changed the words of one of these.
SELECT 1 FROM observations WHERE id IN (SELECT value FROM json_each(:ids)) AND edited_at_epoch IS NOT NULL LIMIT 1;

-- name: all_observation
-- All observations that fit.
SELECT m.id FROM sdk_sessions AS s
CROSS JOIN observations AS m ON m.session_id = s.id
WHERE (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR COALESCE(m.project_id, s.project_id) = :project_id)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: all_summary
-- All summaries that fit.
SELECT m.id FROM sdk_sessions AS s
CROSS JOIN session_summaries AS m ON m.session_id = s.id
WHERE (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR s.project_id = :project_id)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: all_prompt
-- All prompts that fit.
SELECT m.id FROM sdk_sessions AS s
CROSS JOIN user_prompts AS m ON m.session_id = s.id
WHERE m.prompt IS NOT NULL
  AND (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR s.project_id = :project_id)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: all_evidence
-- All events that match and have text; their own time columns come after pages of text.
SELECT m.id FROM sdk_sessions AS s
CROSS JOIN pending_messages AS m ON m.session_id = s.id
WHERE (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR s.project_id = :project_id)
  AND (:since IS NULL OR s.updated_at_epoch >= :since)
  AND (m.tool_name IS NOT NULL OR m.text IS NOT NULL OR m.reason IS NOT NULL)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: words_of_observation
-- All that observations say.
SELECT id, title, subtitle, narrative, facts, concepts, files_read, files_modified, text FROM observations
WHERE id IN (SELECT value FROM json_each(:ids));

-- name: words_of_prompt
-- What was asked.
SELECT id, prompt FROM user_prompts WHERE id IN (SELECT value FROM json_each(:ids));

-- name: words_of_evidence
-- What happened, and what was said of it.
SELECT id, tool_name, tool_input, tool_response, text, note, reason FROM pending_messages
WHERE id IN (SELECT value FROM json_each(:ids));

-- name: places_of_observation
-- Where observations are in the indexes.
SELECT id, project_id, session_id FROM observations
WHERE id IN (SELECT value FROM json_each(:ids)) AND project_id IS NOT NULL;

-- name: places_of_summary
-- Where summaries are.
SELECT m.id, s.project_id, m.session_id FROM session_summaries AS m
JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.id IN (SELECT value FROM json_each(:ids));

-- name: places_of_prompt
-- Where prompts are.
SELECT m.id, s.project_id, m.session_id FROM user_prompts AS m
JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.id IN (SELECT value FROM json_each(:ids));

-- name: forget_{kind}
-- With an observation go its sightings, and what it superseded is current again; an event goes with its session only.
DELETE FROM {table} WHERE id IN (SELECT value FROM json_each(:ids));

-- name: empty_prompt_events
-- Prompt events, which contain nothing more to observe.
UPDATE pending_messages
SET note = NULL, reason = NULL, characters = 0, private = 1, state = 'done',
    settled_at_epoch = COALESCE(settled_at_epoch, :now)
WHERE id IN (SELECT p.id FROM user_prompts AS u
             JOIN pending_messages AS p
                 ON p.session_id = u.session_id AND p.kind = 'prompt' AND p.prompt_number = u.prompt_number
             WHERE u.id IN (SELECT value FROM json_each(:ids)));

-- name: empty_events
-- Only their names are left, by which a duplicate delivery is detected. Emptied events count as private.
UPDATE pending_messages
SET tool_name = NULL, tool_input = NULL, tool_response = NULL, text = NULL, note = NULL, reason = NULL,
    characters = 0, private = 1, state = 'done', settled_at_epoch = COALESCE(settled_at_epoch, :now)
WHERE id IN (SELECT value FROM json_each(:ids));

-- name: sessions_of_{kind}
-- Whose memories these are.
SELECT DISTINCT session_id FROM {table} WHERE id IN (SELECT value FROM json_each(:ids));

-- name: sessions_of_leased
-- Sessions that have one of these events in a batch under way.
SELECT DISTINCT session_id FROM pending_messages
WHERE id IN (SELECT value FROM json_each(:ids)) AND state = 'leased';

-- name: expired_events
-- Settled events of sessions that ended long ago and that still have text.
SELECT p.id, s.updated_at_epoch FROM sdk_sessions AS s
CROSS JOIN pending_messages AS p ON p.session_id = s.id
WHERE s.updated_at_epoch >= :after AND s.updated_at_epoch < :before
  AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL) AND p.state = 'done'
ORDER BY s.updated_at_epoch LIMIT :limit;

-- name: some_observation
-- Which of these observations match.
SELECT m.id FROM observations AS m
CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.id IN (SELECT value FROM json_each(:ids))
  AND (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR COALESCE(m.project_id, s.project_id) = :project_id)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: some_summary
-- Which of these summaries match.
SELECT m.id FROM session_summaries AS m
CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.id IN (SELECT value FROM json_each(:ids))
  AND (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR s.project_id = :project_id)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: some_prompt
-- Which of these prompts match.
SELECT m.id FROM user_prompts AS m
CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.id IN (SELECT value FROM json_each(:ids)) AND m.prompt IS NOT NULL
  AND (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR s.project_id = :project_id)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: some_evidence
-- Which of these events match and have text.
SELECT m.id FROM pending_messages AS m
CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.id IN (SELECT value FROM json_each(:ids))
  AND (m.tool_name IS NOT NULL OR m.text IS NOT NULL OR m.reason IS NOT NULL)
  AND (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR s.project_id = :project_id)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: traces_of_{kind}
-- The identities of memories in a copy of the database, where ids may belong to other memories.
SELECT m.id, s.claude_session_id AS session, m.created_at_epoch AS at
FROM {table} AS m CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.id IN (SELECT value FROM json_each(:ids));

-- name: words_of_summary
-- The text of all summaries, and the session's title with the first one if nothing else contains it.
SELECT m.id, m.request, m.investigated, m.learned, m.completed, m.next_steps, m.files_read, m.files_edited, m.notes,
       s.title, s.subtitle
FROM session_summaries AS m
LEFT JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.id = (SELECT MIN(f.id) FROM session_summaries AS f
                                       WHERE f.session_id = m.session_id AND f.request IS NOT NULL)
   AND NOT EXISTS (SELECT 1 FROM session_summaries AS y WHERE y.session_id = s.id AND y.id <> m.id
                   AND (INSTR(LOWER(y.request), LOWER(SUBSTR(s.title, 1, 12))) > 0
                        OR INSTR(COALESCE(y.completed, y.learned), SUBSTR(s.subtitle, 1, 12)) > 0))
   AND NOT EXISTS (SELECT 1 FROM user_prompts AS u WHERE u.session_id = s.id
                   AND INSTR(LOWER(u.prompt), LOWER(SUBSTR(s.title, 1, 12))) > 0)
WHERE m.id IN (SELECT value FROM json_each(:ids));

-- name: take_back_leases
-- A batch that is being observed contains deleted events: the rest is leased again, and this does not count as an attempt.
UPDATE pending_messages SET state = 'ready', attempts = CASE WHEN attempts > 0 THEN attempts - 1 ELSE 0 END
WHERE session_id = :session_id AND state = 'leased';

-- name: some_of_session
-- Some rows of a session, and whether each has text.
SELECT * FROM (SELECT 'observation' AS kind, id, TRUE AS telling FROM observations WHERE session_id = :session_id
               LIMIT :limit) AS o
UNION ALL
SELECT * FROM (SELECT 'summary', id, TRUE FROM session_summaries WHERE session_id = :session_id LIMIT :limit) AS y
UNION ALL
SELECT * FROM (SELECT 'prompt', id, prompt IS NOT NULL FROM user_prompts WHERE session_id = :session_id
               LIMIT :limit) AS u
UNION ALL
SELECT * FROM (SELECT 'evidence', id, tool_name IS NOT NULL OR text IS NOT NULL FROM pending_messages
               WHERE session_id = :session_id LIMIT :limit) AS p
LIMIT :limit;
