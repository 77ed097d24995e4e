-- The statements of forget.py. `-- name: x` opens one; the next line says what it is for.

-- name: some_observations
-- Of these observations, those that fit.
SELECT m.id FROM json_each(:ids) AS j
CROSS JOIN observations AS m ON m.id = j.value
CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR COALESCE(m.project_id, s.project_id) = :project_id)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: some_summaries
-- Of these summaries, those that fit.
SELECT m.id FROM json_each(:ids) AS j
CROSS JOIN session_summaries AS m ON m.id = j.value
CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR s.project_id = :project_id)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: some_prompts
-- Of these prompts, those that fit.
SELECT m.id FROM json_each(:ids) AS j
CROSS JOIN user_prompts AS m ON m.id = j.value AND m.prompt IS NOT NULL
CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR s.project_id = :project_id)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: some_events
-- Of these events, those that fit and say something.
SELECT m.id FROM json_each(:ids) AS j
CROSS JOIN pending_messages AS m ON m.id = j.value
CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE (m.tool_name IS NOT NULL OR m.text IS NOT NULL OR m.reason IS NOT NULL)
  AND (:session IS NULL OR s.claude_session_id = :session)
  AND (:project_id IS NULL OR s.project_id = :project_id)
  AND (:since IS NULL OR m.created_at_epoch >= :since) AND (:until IS NULL OR m.created_at_epoch < :until);

-- name: words_of_summaries
-- All that summaries say, and what a session is called by the first if nothing else in it says that.
SELECT m.id, m.request, m.investigated, m.learned, m.completed, m.next_steps, m.files_read, m.files_edited, m.notes,
       s.title, s.subtitle
FROM session_summaries AS m
LEFT JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.id = (SELECT MIN(f.id) FROM session_summaries AS f
                                       WHERE f.session_id = m.session_id AND f.request IS NOT NULL)
   AND NOT EXISTS (SELECT 1 FROM session_summaries AS y WHERE y.session_id = s.id AND y.id <> m.id
                   AND (INSTR(LOWER(y.request), LOWER(SUBSTR(s.title, 1, 12)))
                        OR INSTR(COALESCE(y.completed, y.learned), SUBSTR(s.subtitle, 1, 12))))
   AND NOT EXISTS (SELECT 1 FROM user_prompts AS u WHERE u.session_id = s.id
                   AND INSTR(LOWER(u.prompt), LOWER(SUBSTR(s.title, 1, 12))))
WHERE m.id IN (SELECT value FROM json_each(:ids));

-- name: take_back_leases
-- A batch under way holds what is forgotten: what is left of it is handed out anew, and this was no attempt.
UPDATE pending_messages SET state = 'ready', attempts = MAX(0, attempts - 1)
WHERE session_id = :session_id AND state = 'leased';

-- name: some_of_session
-- Some of the rows that a session has, and whether each says something.
SELECT * FROM (SELECT 'observation' AS kind, id, 1 AS telling FROM observations WHERE session_id = :session_id
               LIMIT :limit)
UNION ALL
SELECT * FROM (SELECT 'summary', id, 1 FROM session_summaries WHERE session_id = :session_id LIMIT :limit)
UNION ALL
SELECT * FROM (SELECT 'prompt', id, prompt IS NOT NULL FROM user_prompts WHERE session_id = :session_id LIMIT :limit)
UNION ALL
SELECT * FROM (SELECT 'evidence', id, tool_name IS NOT NULL OR text IS NOT NULL FROM pending_messages
               WHERE session_id = :session_id LIMIT :limit)
LIMIT :limit;

-- name: bar_session
-- It does not come back by way of its transcript.
INSERT OR IGNORE INTO forgotten_sessions (digest) VALUES (:digest);

-- name: traces_of_observations
-- By what observations are known in a copy of the database, where their number may be another's.
SELECT m.id, s.claude_session_id AS session, m.created_at_epoch AS at FROM json_each(:ids) AS j
CROSS JOIN observations AS m ON m.id = j.value CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: traces_of_summaries
-- The same of summaries.
SELECT m.id, s.claude_session_id AS session, m.created_at_epoch AS at FROM json_each(:ids) AS j
CROSS JOIN session_summaries AS m ON m.id = j.value CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: traces_of_prompts
-- The same of prompts.
SELECT m.id, s.claude_session_id AS session, m.created_at_epoch AS at FROM json_each(:ids) AS j
CROSS JOIN user_prompts AS m ON m.id = j.value CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: traces_of_events
-- The same of events.
SELECT m.id, s.claude_session_id AS session, m.created_at_epoch AS at FROM json_each(:ids) AS j
CROSS JOIN pending_messages AS m ON m.id = j.value CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: forget_project
-- Nothing is left of it: where something was superseded, what did so stands.
DELETE FROM projects
WHERE id = :project_id AND NOT EXISTS (SELECT 1 FROM sdk_sessions WHERE project_id = :project_id)
  AND NOT EXISTS (SELECT 1 FROM observations INDEXED BY observations_current
                  WHERE project_id = :project_id AND superseded_by IS NULL);
