-- The statements of statistics.py. `-- name: x` opens one; the next line says what it is for.

-- name: news_mark
-- The oldest open transaction, from which a reader must read again.
SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint);

-- name: news_since
-- What is new since a mark: projects, whether something of them was changed, and sessions that were compacted.
SELECT DISTINCT n.project_id, n.compacted, n.is_change FROM news AS n
LEFT JOIN sdk_sessions AS s ON s.claude_session_id = n.compacted
WHERE n.transaction >= CAST(CAST(:mark AS text) AS xid8) AND (n.compacted IS NULL OR s.past = 0);

-- name: prune_news
-- Deletes entries older than a day, which nobody reads.
DELETE FROM news WHERE created_at < now() - INTERVAL '1 day';

-- name: activity
-- How many observations, prompts and summaries a project has for each day, in the user's time zone.
SELECT 'observations' AS what, TO_CHAR(TO_TIMESTAMP(o.created_at_epoch / 1000), 'YYYY-MM-DD') AS day, COUNT(*) AS times
FROM observations AS o WHERE o.project_id = :project_id AND o.created_at_epoch >= :since GROUP BY day
UNION ALL
SELECT 'prompts', TO_CHAR(TO_TIMESTAMP(u.created_at_epoch / 1000), 'YYYY-MM-DD') AS day, COUNT(*)
FROM sdk_sessions AS s JOIN user_prompts AS u ON u.session_id = s.id
WHERE s.project_id = :project_id AND u.created_at_epoch >= :since GROUP BY day
UNION ALL
SELECT 'summaries', TO_CHAR(TO_TIMESTAMP(y.created_at_epoch / 1000), 'YYYY-MM-DD') AS day, COUNT(*)
FROM sdk_sessions AS s JOIN session_summaries AS y ON y.session_id = s.id
WHERE s.project_id = :project_id AND y.created_at_epoch >= :since GROUP BY day;

-- name: changed_files
-- The files changed by most observations, among a project's latest memories about files.
SELECT f.path, f.changes, o.created_at_epoch AS last_at
FROM (SELECT path, COUNT(*) AS changes, MAX(memory_key) AS last_key
      FROM (SELECT path, memory_key, how FROM memory_files
            WHERE project_id = :first AND project_id = :last ORDER BY memory_key DESC LIMIT :most) AS m
      WHERE how = 'modified' AND (memory_key >> 31) & 3 = 0
      GROUP BY path ORDER BY changes DESC, last_key DESC LIMIT :limit) AS f
JOIN observations AS o ON o.id = f.last_key & 2147483647
ORDER BY f.changes DESC, f.last_key DESC;

-- name: concepts_of_project
-- The concepts of its newest memories, most frequent first.
SELECT j AS concept FROM (SELECT concepts FROM observations WHERE project_id = :project_id
                                ORDER BY created_at_epoch DESC LIMIT :most) AS o, json_array_elements_text(CAST(o.concepts AS json)) AS j
GROUP BY j ORDER BY COUNT(*) DESC, j COLLATE "C" LIMIT :limit;

-- name: concepts_of_all
-- The same, of all.
SELECT j AS concept FROM (SELECT concepts FROM observations
                                ORDER BY created_at_epoch DESC LIMIT :most) AS o, json_array_elements_text(CAST(o.concepts AS json)) AS j
GROUP BY j ORDER BY COUNT(*) DESC, j COLLATE "C" LIMIT :limit;
