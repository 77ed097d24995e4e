-- The statements of statistics.py. `-- name: x` opens one; the next line says what it is for.

-- name: projects_with_news
-- Projects whose memories or directories have changed since some marks.
SELECT project_id FROM observations WHERE id > :observation AND project_id IS NOT NULL
UNION
SELECT s.project_id FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id WHERE y.id > :summary
UNION
SELECT project_id FROM sdk_sessions WHERE id > :session;

-- name: compacted_since
-- Sessions whose compaction was reported past a mark; old ones are no longer running.
SELECT DISTINCT s.project_id, s.claude_session_id
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.id > :after AND p.kind IN ('pre_compact', 'post_compact') AND s.past = 0;

-- name: activity
-- How many observations, prompts and summaries a project has for each day, in the user's time zone.
SELECT 'observations' AS what, DATE(o.created_at_epoch / 1000, 'unixepoch', 'localtime') AS day, COUNT(*) AS times
FROM observations AS o WHERE o.project_id = :project_id AND o.created_at_epoch >= :since GROUP BY day
UNION ALL
SELECT 'prompts', DATE(u.created_at_epoch / 1000, 'unixepoch', 'localtime') AS day, COUNT(*)
FROM sdk_sessions AS s JOIN user_prompts AS u ON u.session_id = s.id
WHERE s.project_id = :project_id AND u.created_at_epoch >= :since GROUP BY day
UNION ALL
SELECT 'summaries', DATE(y.created_at_epoch / 1000, 'unixepoch', 'localtime') AS day, COUNT(*)
FROM sdk_sessions AS s JOIN session_summaries AS y ON y.session_id = s.id
WHERE s.project_id = :project_id AND y.created_at_epoch >= :since GROUP BY day;

-- name: changed_files
-- The files changed by most observations, among a project's latest memories about files.
SELECT f.path, f.changes, o.created_at_epoch AS last_at
FROM (SELECT path, COUNT(*) AS changes, MAX(memory_key) AS last_key
      FROM (SELECT path, memory_key, how FROM memory_files INDEXED BY memory_files_by_key
            WHERE memory_key BETWEEN :first AND :last ORDER BY memory_key DESC LIMIT :most)
      WHERE how = 'modified' AND (memory_key >> 25) & 3 = 0
      GROUP BY path ORDER BY changes DESC, last_key DESC LIMIT :limit) AS f
CROSS JOIN observations AS o ON o.id = f.last_key & 0x1FFFFFF
ORDER BY f.changes DESC, f.last_key DESC;

-- name: concepts_of_project
-- The concepts of its newest memories, most frequent first.
SELECT j.value AS concept FROM (SELECT concepts FROM observations WHERE project_id = :project_id
                                ORDER BY created_at_epoch DESC LIMIT :most) AS o, json_each(o.concepts) AS j
GROUP BY concept ORDER BY COUNT(*) DESC, concept LIMIT :limit;

-- name: concepts_of_all
-- The same, of all.
SELECT j.value AS concept FROM (SELECT concepts FROM observations
                                ORDER BY created_at_epoch DESC LIMIT :most) AS o, json_each(o.concepts) AS j
GROUP BY concept ORDER BY COUNT(*) DESC, concept LIMIT :limit;
