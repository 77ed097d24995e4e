-- The statements of upkeep.py. `-- name: x` opens one; the next line says what it is for.

-- name: database_size
-- In bytes.
SELECT pg_database_size(current_database());

-- name: audience
-- As whom the caller reads, and which projects.
SELECT current_user || ' ' || CAST(ARRAY(SELECT UNNEST(readable_projects()) ORDER BY 1) AS text);
