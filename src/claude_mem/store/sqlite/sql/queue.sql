-- The statements of queue.py. `-- name: x` opens one; the next line says what it is for.

-- name: reclaim_jobs
-- Releases all leases, because their holders are gone.
UPDATE pending_messages SET state = 'ready' WHERE state = 'leased';

-- name: spending_since
-- What was spent, by day, project and model; the money is NULL where none of it is known.
SELECT SUBSTR(created_at, 1, 10) AS day, project, provider, model, COUNT(*) AS calls,
       SUM(input_tokens) AS input_tokens, SUM(cached_tokens) AS cached_tokens,
       SUM(output_tokens) AS output_tokens, ROUND(SUM(cost_usd), 6) AS cost_usd
FROM spending WHERE created_at_epoch >= :since
GROUP BY day, project, provider, model
ORDER BY day, project, provider, model;

-- name: figures
-- How many jobs are in each state.
SELECT state, jobs FROM queue_figures;

-- name: counters
-- All counters over the store's lifetime.
SELECT name, value FROM counters;

-- name: count
-- Count something.
INSERT INTO counters (name, value) VALUES (:name, :by)
ON CONFLICT (name) DO UPDATE SET value = value + excluded.value;

-- name: begin_lease
-- Counts a new lease. Attempts restart at zero when a job is resumed, but this number does not.
INSERT INTO counters (name, value) VALUES ('leases', 1)
ON CONFLICT (name) DO UPDATE SET value = value + 1;

-- name: lease_number
-- The number of the lease that was begun: RETURNING needs SQLite 3.35.
SELECT value FROM counters WHERE name = 'leases';
