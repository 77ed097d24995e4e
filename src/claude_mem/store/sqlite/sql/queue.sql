-- The statements of queue.py. `-- name: x` opens one; the next line says what it is for.

-- name: next_due_session
-- The free session whose due job is the oldest.
SELECT h.session_id
FROM queue_heads AS h
CROSS JOIN sdk_sessions AS s ON s.id = h.session_id
WHERE h.leased = 0 AND h.ready_id IS NOT NULL AND s.status <> 'failed' AND s.held_until_epoch <= :now
  AND (h.not_before_epoch <= :now OR h.not_before_epoch > :horizon)
ORDER BY h.ready_id LIMIT 1;

-- name: due_session
-- A session, if it is free and its next job is due.
SELECT h.session_id
FROM queue_heads AS h
CROSS JOIN sdk_sessions AS s ON s.id = h.session_id
WHERE h.session_id = :session_id AND h.leased = 0 AND h.ready_id IS NOT NULL AND s.status <> 'failed'
  AND s.held_until_epoch <= :now
  AND (h.not_before_epoch <= :now OR h.not_before_epoch > :horizon);

-- name: gathered_jobs
-- The first of a session's ready jobs, summed up.
SELECT COUNT(*) AS events, SUM(characters) AS characters,
       MAX(created_at_epoch) AS newest_at, MAX(kind IN ('stop', 'pre_compact')) AS stopped
FROM (SELECT kind, characters, created_at_epoch FROM pending_messages
      WHERE session_id = :session_id AND state = 'ready' AND state <> 'done'
      ORDER BY id LIMIT :limit);

-- name: reclaim_jobs
-- Every lease belongs to a holder that is gone.
UPDATE pending_messages SET state = 'ready' WHERE state = 'leased';

-- name: spent_in_session
-- What a session has cost so far.
SELECT COALESCE(SUM(input_tokens + cached_tokens + output_tokens), 0) AS tokens, TOTAL(cost_usd) AS usd
FROM spending WHERE session_id = :session_id;

-- name: spent_between
-- What all sessions cost between two instants.
SELECT COALESCE(SUM(input_tokens + cached_tokens + output_tokens), 0) AS tokens, TOTAL(cost_usd) AS usd
FROM spending WHERE created_at_epoch >= :since AND created_at_epoch < :until;

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
-- All that was counted over the store's life.
SELECT name, value FROM counters;

-- name: count
-- Count something.
INSERT INTO counters (name, value) VALUES (:name, :by)
ON CONFLICT (name) DO UPDATE SET value = value + excluded.value;

-- name: begin_lease
-- Count a new lease. Attempts start anew when a job is resumed, this number never does.
INSERT INTO counters (name, value) VALUES ('leases', 1)
ON CONFLICT (name) DO UPDATE SET value = value + 1;

-- name: lease_number
-- The number of the lease that was begun: RETURNING needs SQLite 3.35.
SELECT value FROM counters WHERE name = 'leases';
