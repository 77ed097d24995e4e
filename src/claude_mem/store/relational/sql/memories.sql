-- The statements of memories.py. `-- name: x` opens one; the next line says what it is for.

-- name: count_of_session
-- How many items of each kind a session has that have text.
SELECT (SELECT COUNT(*) FROM observations AS o WHERE o.session_id = s.id) AS observation,
       (SELECT COUNT(*) FROM session_summaries AS y WHERE y.session_id = s.id) AS summary,
       (SELECT COUNT(*) FROM user_prompts AS u WHERE u.session_id = s.id AND u.prompt IS NOT NULL) AS prompt,
       (SELECT COUNT(*) FROM pending_messages AS p
        WHERE p.session_id = s.id AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL)) AS evidence
FROM (SELECT (SELECT id FROM sdk_sessions WHERE claude_session_id = :session) AS id) AS s;
