-- The statements of upkeep.py. `-- name: x` opens one; the next line says what it is for.

-- name: database_size
-- In bytes.
SELECT pg_database_size(current_database());
