-- The statements of schema.py. `-- name: x` opens one; the next line says what it is for.

-- name: lock_schema
-- One process at a time creates or migrates; it waits for those that write.
SELECT pg_advisory_xact_lock(:lock);

-- name: schema_found
-- How many tables there are in our schema, and whether one of them is ours.
SELECT COUNT(*) AS tables, COUNT(*) FILTER (WHERE table_name = 'schema_version') AS ours
FROM information_schema.tables WHERE table_schema = :schema;

-- name: wait_for_migration
-- Blocks migrations until this transaction has ended.
SELECT pg_advisory_xact_lock_shared(:lock);

-- name: set_version
-- Sets the version.
UPDATE schema_version SET version = :version;

-- name: found_version
-- The schema's version, for those who only look.
SELECT version FROM schema_version;

-- name: member_role
-- Whether there is the role of members, whether we may act as it, and whether the rules would not bind it.
SELECT current_user AS name, r.oid IS NOT NULL AS exists, COALESCE(r.rolsuper OR r.rolbypassrls, FALSE) AS bypasses,
       r.oid IS NOT NULL AND pg_has_role(current_user, r.oid,
           CASE WHEN CAST(current_setting('server_version_num') AS integer) >= 160000 THEN 'SET' ELSE 'MEMBER' END) AS usable
FROM (SELECT 1) AS one LEFT JOIN pg_roles AS r ON r.rolname = :role;

-- name: schema_owner
-- Whose the tables are.
SELECT CAST(pg_get_userbyid(nspowner) AS text) AS owner FROM pg_namespace WHERE nspname = :schema;
