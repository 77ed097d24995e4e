-- The statements of projects.py. `-- name: x` opens one; the next line says what it is for.

-- name: projects_to_keep
-- All projects that have sessions, with what a person needs to distinguish them, the most recently used first.
SELECT p.id, p.key, p.name, p.root, p.remote, p.named, COUNT(s.id) AS sessions, MAX(s.updated_at_epoch) AS last_at,
       (SELECT json_group_array(key) FROM (SELECT key FROM project_aliases WHERE project_id = p.id ORDER BY key)) AS merged,
       CASE WHEN :weighed THEN
           COALESCE((SELECT SUM(e.characters) FROM sdk_sessions AS t
                     CROSS JOIN pending_messages AS e ON e.session_id = t.id WHERE t.project_id = p.id), 0)
           + COALESCE((SELECT SUM(LENGTH(COALESCE(o.title, '')) + LENGTH(COALESCE(o.narrative, '')) + LENGTH(o.facts))
                       FROM observations AS o WHERE o.project_id = p.id), 0)
       ELSE 0 END AS characters,
       (SELECT COUNT(*) FROM observations AS o WHERE o.project_id = p.id AND o.superseded_by IS NULL)
       + (SELECT COUNT(*) FROM observations AS o WHERE o.project_id = p.id AND o.superseded_by IS NOT NULL) AS observations,
       (SELECT c.commit_sha FROM sdk_sessions AS c WHERE c.project_id = p.id AND c.commit_sha IS NOT NULL
        ORDER BY c.updated_at_epoch DESC LIMIT 1) AS last_commit
FROM projects AS p
CROSS JOIN sdk_sessions AS s ON s.project_id = p.id
GROUP BY p.id ORDER BY last_at DESC, p.id;
