-- The statements of store.py and presence.py. `-- name: x` opens one; the next line says what it is for.

-- name: claim
-- Whether this connection holds the lock now; it does until it ends.
SELECT pg_try_advisory_lock(:lock, :number) AS claimed;

-- name: new_holder
-- A number for a process, and its lock.
SELECT holder, pg_advisory_lock(:lock, holder) FROM (SELECT CAST(nextval('holders') AS integer) AS holder) AS next;

-- name: renew_holder
-- Acquires its lock on a new connection, unless the lost one still holds it.
SELECT pg_try_advisory_lock(:lock, :holder) AS held;
