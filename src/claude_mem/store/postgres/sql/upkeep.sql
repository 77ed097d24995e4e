-- The statements of upkeep.py. `-- name: x` opens one; the next line says what it is for.

-- name: database_size
-- In bytes.
SELECT pg_database_size(current_database());

-- name: audience
-- The member as whom the caller reads, and the member's projects.
SELECT current_user || ' ' || CAST(ARRAY(SELECT UNNEST(readable_projects()) ORDER BY 1) AS text);
