-- The statements of queue.py. `-- name: x` opens one; the next line says what it is for.

-- name: reclaim_jobs
-- The leases of holders that are gone, and our own, because this process has just started.
UPDATE pending_messages AS p SET state = 'ready'
WHERE state = 'leased' AND NOT EXISTS (
    SELECT 1 FROM leases AS l
    JOIN pg_locks AS k ON k.locktype = 'advisory' AND k.granted AND k.classid = 1668113773 AND k.objid = l.holder AND k.objsubid = 2
                      AND k.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    WHERE l.number = p.lease_number AND l.holder <> CAST(current_setting('claude_mem.holder') AS integer));

-- name: spending_since
-- What was spent, by day, project and model; the money is NULL where none of it is known.
SELECT SUBSTR(created_at, 1, 10) AS day, project, provider, model, COUNT(*) AS calls,
       SUM(input_tokens) AS input_tokens, SUM(cached_tokens) AS cached_tokens,
       SUM(output_tokens) AS output_tokens, CAST(ROUND(CAST(SUM(cost_usd) AS numeric), 6) AS double precision) AS cost_usd
FROM spending WHERE created_at_epoch >= :since
GROUP BY day, project, provider, model
ORDER BY day, project, provider, model;

-- name: figures
-- How many jobs are in each state.
SELECT state, jobs FROM (
    SELECT COALESCE(SUM(ready), 0) AS ready, COALESCE(SUM(leased), 0) AS leased, COALESCE(SUM(parked), 0) AS parked,
           COALESCE(SUM(done), 0) AS done
    FROM queue_heads
) AS h, LATERAL (VALUES ('ready', ready), ('leased', leased), ('parked', parked), ('done', done)) AS f (state, jobs);

-- name: counters
-- All counters over the store's lifetime.
SELECT name, SUM(value) AS value FROM counters GROUP BY name;

-- name: count
-- Count something.
INSERT INTO counters AS c (name, backend, value) VALUES (:name, pg_backend_pid() % 64, :by)
ON CONFLICT (name, backend) DO UPDATE SET value = c.value + excluded.value;

-- name: begin_lease
-- A new lease, and who holds it.
INSERT INTO leases (holder) VALUES (CAST(current_setting('claude_mem.holder') AS integer));

-- name: lease_number
-- The number of the lease that was begun.
SELECT lastval();
