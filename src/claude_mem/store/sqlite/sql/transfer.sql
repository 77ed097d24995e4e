-- The statements of transfer.py. `-- name: x` opens one; the next line says what it is for.

-- name: export_projects
-- Their projects, and those that a memory of theirs belongs to.
SELECT key, name, named, root, remote, created_at_epoch AS created_at,
       (SELECT json_group_array(a.key) FROM (
           SELECT key FROM project_aliases WHERE project_id = projects.id ORDER BY key
       ) AS a) AS aliases
FROM projects
WHERE id IN (SELECT project_id FROM sdk_sessions WHERE id IN (SELECT value FROM json_each(:sessions))
             UNION
             SELECT project_id FROM observations WHERE session_id IN (SELECT value FROM json_each(:sessions)))
ORDER BY created_at_epoch, key

-- name: export_sightings
-- What was understood again in one; the same thing at the same time is one sighting.
SELECT t.claude_session_id AS older_session, o.created_at_epoch AS older_at, o.content_key AS older_key,
       s.claude_session_id AS session_id, m.prompt_number, m.created_at_epoch AS at, MIN(m.id) AS first
FROM observation_sightings AS m JOIN sdk_sessions AS s ON s.id = m.session_id
JOIN observations AS o ON o.id = m.observation_id
JOIN sdk_sessions AS t ON t.id = o.session_id
WHERE m.session_id = :session
GROUP BY m.observation_id, m.created_at_epoch
ORDER BY m.created_at_epoch, first
