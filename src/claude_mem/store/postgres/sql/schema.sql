-- The statements of schema.py. `-- name: x` opens one; the next line says what it is for.

-- name: lock_schema
-- One process at a time creates or migrates; it waits for those that write.
SELECT pg_advisory_xact_lock(:lock);

-- name: schema_found
-- How many tables there are in our schema, and whether one of them is ours.
SELECT COUNT(*) AS tables, COUNT(*) FILTER (WHERE table_name = 'schema_version') AS ours
FROM information_schema.tables WHERE table_schema = :schema;

-- name: current_version
-- The schema's version. Nobody migrates until this transaction has ended.
SELECT version, pg_advisory_xact_lock_shared(:lock) FROM schema_version;

-- name: set_version
-- It has this version from now on.
UPDATE schema_version SET version = :version;

-- name: found_version
-- The schema's version, for those who only look.
SELECT version FROM schema_version;
