-- Parts of statements: what narrows and orders the lists of memory_filters.sql and sessions.sql. Each has a name and a purpose.

-- name: where_concepts
-- About one of some concepts.
EXISTS (SELECT 1 FROM json_each(m.concepts) AS c WHERE c.value IN (SELECT value FROM json_each(:concepts)))
