-- Parts of statements: what narrows and orders the lists of memory_filters.sql and sessions.sql. Each has a name and a purpose.

-- name: where_besides
-- Of one project, where something else says more: not to be looked for by the project.
+m.project_id = :project_id

-- name: where_concepts
-- About one of some concepts.
EXISTS (SELECT 1 FROM json_each(m.concepts) AS c WHERE c.value IN (SELECT value FROM json_each(:concepts)))

-- name: where_client_observation
-- Likewise, of a list that goes without its sessions; by time all the same.
+m.session_id IN (SELECT id FROM sdk_sessions WHERE client = :client)

-- name: where_authors_observation
-- Likewise, by members of the team; '' is oneself.
+m.session_id IN (
    SELECT id FROM sdk_sessions WHERE COALESCE(author, '') IN (SELECT value FROM json_each(:authors))
)
