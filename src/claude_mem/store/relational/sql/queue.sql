-- The statements of queue.py. `-- name: x` opens one; the next line says what it is for.

-- name: ready_jobs
-- A session's ready jobs in their order, with all that rebuilds the event.
SELECT p.*, s.claude_session_id, s.client, s.project, s.transcript_path, u.prompt
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
LEFT JOIN user_prompts AS u
    ON p.kind = 'prompt' AND u.session_id = p.session_id AND u.prompt_number = p.prompt_number
WHERE p.session_id = :session_id AND p.state = 'ready' AND p.state <> 'done'
ORDER BY p.id LIMIT :limit;

-- name: lease_job
-- Hand a job out once more.
UPDATE pending_messages SET state = 'leased', attempts = attempts + 1, lease_number = :number, reason = NULL
WHERE id = :id AND state = 'ready';

-- name: settle_job
-- Marks a job done, if its lease is still valid.
UPDATE pending_messages SET state = 'done', settled_at_epoch = :now, reason = NULL
WHERE id = :id AND state = 'leased' AND lease_number = :number;

-- name: postpone_job
-- Ready again at a later time, if the lease is still valid; a wait is not an attempt.
UPDATE pending_messages
SET state = 'ready', not_before_epoch = :until, reason = :reason, attempts = attempts - :uncounted
WHERE id = :id AND state = 'leased' AND lease_number = :number;

-- name: park_job
-- Parked until it is resumed, if the lease is still valid.
UPDATE pending_messages SET state = 'parked', reason = :reason
WHERE id = :id AND state = 'leased' AND lease_number = :number;

-- name: resume_jobs
-- Makes every parked job ready.
UPDATE pending_messages SET state = 'ready', attempts = 0, not_before_epoch = 0, reason = NULL
WHERE state = 'parked';

-- name: hurry_jobs
-- Ends all waiting.
UPDATE pending_messages SET not_before_epoch = 0
WHERE id IN (SELECT id FROM pending_messages WHERE state = 'ready' AND not_before_epoch > 0);

-- name: resume_batch
-- Makes all parked jobs of a batch that has a fallback ready.
UPDATE pending_messages SET state = 'ready', attempts = 0, not_before_epoch = 0, reason = NULL
WHERE state = 'parked'
  AND id IN (SELECT o.job_id FROM fallbacks AS f JOIN fallbacks AS o ON o.number = f.number WHERE f.job_id = :id);

-- name: resume_job
-- Makes one parked job ready.
UPDATE pending_messages SET state = 'ready', attempts = 0, not_before_epoch = 0, reason = NULL
WHERE id = :id AND state = 'parked';

-- name: drop_job
-- Marks a parked job done without observing it; it stays as evidence.
UPDATE pending_messages SET state = 'done', settled_at_epoch = :now, reason = :reason
WHERE id = :id AND state = 'parked';

-- name: request_of
-- The last prompt when a prompt's number was current; private ones are not stored.
SELECT prompt FROM user_prompts
WHERE session_id = :session_id AND prompt_number <= :prompt_number AND prompt IS NOT NULL
ORDER BY prompt_number DESC LIMIT 1;

-- name: said_before
-- The agent's last message before a job; private words are not there to be found.
SELECT text FROM pending_messages
WHERE session_id = :session_id AND id < :id AND kind = 'stop' AND private = 0 AND text IS NOT NULL
ORDER BY id DESC LIMIT 1;

-- name: add_fallback
-- A parked job whose batch is remembered for the time being.
INSERT INTO fallbacks (job_id, number) VALUES (:job_id, :number);

-- name: add_fallback_memory
-- What it is remembered by.
INSERT INTO fallback_memories (number, kind, memory_id, session_id) VALUES (:number, :kind, :memory_id, :session_id);

-- name: parked_with_fallback
-- How many parked jobs are remembered for the time being.
SELECT COUNT(*) FROM fallbacks AS f JOIN pending_messages AS p ON p.id = f.job_id WHERE p.state = 'parked';

-- name: provenance
-- Where the work of a batch was done: its session, and the branch and commit of its last event.
SELECT s.project, s.project_id, s.client, s.offline, p.branch, p.commit_sha
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.id = :id;

-- name: add_spend
-- What a call for a session cost.
INSERT INTO spending (session_id, project, provider, model, input_tokens, cached_tokens, output_tokens, cost_usd,
                      created_at, created_at_epoch)
SELECT id, project, :provider, :model, :input_tokens, :cached_tokens, :output_tokens, :cost_usd,
       :created_at, :created_at_epoch
FROM sdk_sessions WHERE id = :session_id;

-- name: jobs_in_state
-- A page of jobs in one state, with all that rebuilds the event.
SELECT p.*, s.claude_session_id, s.client, s.project, s.transcript_path, u.prompt
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
LEFT JOIN user_prompts AS u
    ON p.kind = 'prompt' AND u.session_id = p.session_id AND u.prompt_number = p.prompt_number
WHERE p.state = :state AND p.id > :after
ORDER BY p.id LIMIT :limit;

-- name: last_event_at
-- When something last happened in any session.
SELECT MAX(updated_at_epoch) FROM sdk_sessions;

-- name: due_sessions
-- Free sessions whose next job is due, oldest job first; a wait beyond the horizon means that the clock jumped.
SELECT h.session_id, h.ready_id, h.not_before_epoch, s.status, s.past, s.offline,
       (SELECT p.attempts FROM pending_messages AS p WHERE p.id = h.ready_id) AS attempts
FROM queue_heads AS h
CROSS JOIN sdk_sessions AS s ON s.id = h.session_id
WHERE h.leased = 0 AND h.ready_id IS NOT NULL AND s.status <> 'failed' AND s.held_until_epoch <= :now
  AND (h.not_before_epoch <= :now OR h.not_before_epoch > :horizon)
ORDER BY h.ready_id LIMIT :limit;

-- name: ended_sessions
-- Those of the due sessions whose turn has ended, or that have ended themselves, the oldest job first.
SELECT h.session_id, h.ready_id, h.not_before_epoch, s.status, s.past, s.offline,
       (SELECT p.attempts FROM pending_messages AS p WHERE p.id = h.ready_id) AS attempts
FROM queue_heads AS h
CROSS JOIN sdk_sessions AS s ON s.id = h.session_id
WHERE h.leased = 0 AND h.ready_id IS NOT NULL AND s.status <> 'failed' AND s.held_until_epoch <= :now
  AND (h.not_before_epoch <= :now OR h.not_before_epoch > :horizon)
  AND (s.status IN ('completed', 'interrupted')
       OR EXISTS (SELECT 1 FROM pending_messages AS p INDEXED BY pending_messages_stops
                  WHERE p.session_id = h.session_id AND p.kind = 'stop' AND p.state = 'ready'))
ORDER BY h.ready_id LIMIT :limit;

-- name: waiting_sessions
-- Free sessions whose next job must wait, the soonest first.
SELECT h.session_id, h.ready_id, h.not_before_epoch, s.status, s.past, s.offline,
       (SELECT p.attempts FROM pending_messages AS p WHERE p.id = h.ready_id) AS attempts
FROM queue_heads AS h
CROSS JOIN sdk_sessions AS s ON s.id = h.session_id
WHERE h.leased = 0 AND h.ready_id IS NOT NULL AND s.status <> 'failed' AND s.held_until_epoch <= :now
  AND h.not_before_epoch > :now AND h.not_before_epoch <= :horizon
ORDER BY h.not_before_epoch, h.ready_id LIMIT :limit;

-- name: recorded_titles
-- The titles of a session's last observations, the newest first, without those that only stand in for these jobs.
SELECT title FROM observations WHERE session_id = :session_id AND title IS NOT NULL AND superseded_by IS NULL
  AND id NOT IN (SELECT m.memory_id FROM fallbacks AS f JOIN fallback_memories AS m ON m.number = f.number
                 WHERE f.job_id IN (SELECT value FROM json_each(:ids)) AND m.kind = 'observation')
ORDER BY id DESC LIMIT :limit;

-- name: fallback_memories_of
-- The fallback's memories of these jobs that nothing else depends on.
SELECT DISTINCT m.kind, m.memory_id
FROM fallbacks AS f
JOIN fallback_memories AS m ON m.number = f.number
LEFT JOIN observations AS o ON m.kind = 'observation' AND o.id = m.memory_id
WHERE f.job_id IN (SELECT value FROM json_each(:ids))
  AND (m.kind = 'summary'
       OR (o.pinned = 0 AND o.wrong = 0 AND o.edited_at_epoch IS NULL
           AND NOT EXISTS (SELECT 1 FROM observation_sightings AS s
                           WHERE s.observation_id = o.id AND s.session_id <> o.session_id)));

-- name: forget_fallback_memories
-- Removes the fallbacks of these jobs.
DELETE FROM fallback_memories
WHERE number IN (SELECT number FROM fallbacks WHERE job_id IN (SELECT value FROM json_each(:ids)));

-- name: forget_fallbacks
-- Likewise.
DELETE FROM fallbacks WHERE job_id IN (SELECT value FROM json_each(:ids));

-- name: forget_dropped_fallbacks
-- The fallbacks of dropped jobs become permanent.
DELETE FROM fallbacks
WHERE job_id IN (SELECT value FROM json_each(:ids))
  AND EXISTS (SELECT 1 FROM pending_messages AS p WHERE p.id = job_id AND p.state = 'done');

-- name: oldest_ready
-- Since when the longest waiting job has been ready; the age of past events does not count.
SELECT p.created_at_epoch FROM pending_messages AS p INDEXED BY pending_messages_ready_age
CROSS JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.state = 'ready' AND s.past = 0
ORDER BY p.created_at_epoch LIMIT 1;

-- name: next_due_session
-- The free session with the oldest due job; sessions that another process is leasing are skipped.
SELECT h.session_id
FROM queue_heads AS h
CROSS JOIN sdk_sessions AS s ON s.id = h.session_id
WHERE h.leased = 0 AND h.ready_id IS NOT NULL AND s.status <> 'failed' AND s.held_until_epoch <= :now
  AND (h.not_before_epoch <= :now OR h.not_before_epoch > :horizon)
ORDER BY h.ready_id LIMIT 1 /* FOR UPDATE OF h SKIP LOCKED */;

-- name: due_session
-- A session, if it is free and its next job is due.
SELECT h.session_id
FROM queue_heads AS h
CROSS JOIN sdk_sessions AS s ON s.id = h.session_id
WHERE h.session_id = :session_id AND h.leased = 0 AND h.ready_id IS NOT NULL AND s.status <> 'failed'
  AND s.held_until_epoch <= :now
  AND (h.not_before_epoch <= :now OR h.not_before_epoch > :horizon)
/* FOR UPDATE OF h SKIP LOCKED */;

-- name: gathered_jobs
-- The first of a session's ready jobs, as totals.
SELECT COUNT(*) AS events, SUM(characters) AS characters,
       MAX(created_at_epoch) AS newest_at, MAX(CASE WHEN kind IN ('stop', 'pre_compact') THEN 1 ELSE 0 END) AS stopped
FROM (SELECT kind, characters, created_at_epoch FROM pending_messages
      WHERE session_id = :session_id AND state = 'ready' AND state <> 'done'
      ORDER BY id LIMIT :limit) AS first;

-- name: spent_in_session
-- What a session has cost so far.
SELECT COALESCE(SUM(input_tokens + cached_tokens + output_tokens), 0) AS tokens,
       COALESCE(SUM(cost_usd), 0.0) AS usd
FROM spending WHERE session_id = :session_id;

-- name: spent_between
-- What all sessions cost between two instants.
SELECT COALESCE(SUM(input_tokens + cached_tokens + output_tokens), 0) AS tokens,
       COALESCE(SUM(cost_usd), 0.0) AS usd
FROM spending WHERE created_at_epoch >= :since AND created_at_epoch < :until;
