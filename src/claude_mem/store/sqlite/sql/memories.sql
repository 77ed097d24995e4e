-- The statements of memories.py. `-- name: x` opens one; the next line says what it is for.

-- name: files_under_among
-- The same, of some memories.
SELECT f.memory_key, f.path FROM json_each(:memory_keys) AS k CROSS JOIN memory_files AS f ON f.memory_key = k.value
WHERE f.folder = :folder OR f.folder LIKE :folder || '/%' LIMIT :limit;

-- name: files_under
-- Memories of files in a folder and below it.
SELECT memory_key, path FROM memory_files
WHERE folder >= :folder AND folder < :folder || '0' AND (folder = :folder OR folder LIKE :folder || '/%')
  AND memory_key BETWEEN :first AND :last
LIMIT :limit;

-- name: count_of_session
-- How much of each kind a session has that says something.
SELECT (SELECT COUNT(*) FROM observations AS o WHERE o.session_id = s.id) AS observation,
       (SELECT COUNT(*) FROM session_summaries AS y WHERE y.session_id = s.id) AS summary,
       (SELECT COUNT(*) FROM user_prompts AS u WHERE u.session_id = s.id AND u.prompt IS NOT NULL) AS prompt,
       (SELECT COUNT(*) FROM pending_messages AS p
        WHERE p.session_id = s.id AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL)) AS evidence
FROM (SELECT (SELECT id FROM sdk_sessions WHERE claude_session_id = :session) AS id) AS s;
