-- The statements of memories.py. `-- name: x` opens one; the next line says what it is for.

-- name: size_of_span
-- How many memories a span of the index has.
SELECT COUNT(*) FROM memory_text_docsize WHERE id BETWEEN :first AND :last;

-- name: files_under
-- Memories of files in a folder and below it.
SELECT spot, path FROM memory_files
WHERE folder >= :folder AND folder < :folder || '0' AND (folder = :folder OR folder LIKE :folder || '/%')
  AND spot BETWEEN :first AND :last
LIMIT :limit;

-- name: live_project_by_key
-- The same, if it has sessions.
SELECT p.id, p.key, p.name, p.root FROM projects AS p
WHERE p.id = COALESCE((SELECT project_id FROM project_aliases WHERE key = :given),
                      (SELECT o.id FROM projects AS o WHERE o.key = :given))
  AND EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id);

-- name: projects_by_name
-- Projects by the name people see; the one last worked in first. What strangers did somewhere is no work here.
SELECT p.id, p.key, p.name, p.root FROM projects AS p
WHERE p.name = :given AND EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id)
ORDER BY (SELECT MAX(s.updated_at_epoch) FROM sdk_sessions AS s WHERE s.project_id = p.id AND s.client <> 'import') DESC;

-- name: projects_with_figures
-- All projects that have sessions, the one last worked in first.
SELECT p.id, p.key, p.name, p.root, COUNT(s.id) AS sessions, MAX(s.updated_at_epoch) AS last_at,
       (SELECT COUNT(*) FROM observations AS o WHERE o.project_id = p.id) AS observations
FROM projects AS p
CROSS JOIN sdk_sessions AS s ON s.project_id = p.id
GROUP BY p.id ORDER BY last_at DESC, p.id LIMIT :limit OFFSET :offset;

-- name: count_of_session
-- How much of each kind a session has that says something.
SELECT (SELECT COUNT(*) FROM observations AS o WHERE o.session_id = s.id) AS observation,
       (SELECT COUNT(*) FROM session_summaries AS y WHERE y.session_id = s.id) AS summary,
       (SELECT COUNT(*) FROM user_prompts AS u WHERE u.session_id = s.id AND u.prompt IS NOT NULL) AS prompt,
       (SELECT COUNT(*) FROM pending_messages AS p
        WHERE p.session_id = s.id AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL)) AS evidence
FROM (SELECT (SELECT id FROM sdk_sessions WHERE claude_session_id = :session) AS id) AS s;
