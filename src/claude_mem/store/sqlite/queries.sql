-- Every statement the store runs, by name. `-- name: x` opens one; the next line says what it is for.

-- name: event_accepted
-- The session of an event that was accepted before, under the name the hook gave it.
SELECT session_id FROM pending_messages WHERE event_id = :event_id;

-- name: find_project
-- A project by the key that worktrees and clones share, or by one of a project that was merged into it.
SELECT id FROM projects
WHERE id = COALESCE((SELECT project_id FROM project_aliases WHERE key = :key),
                    (SELECT p.id FROM projects AS p WHERE p.key = :key));

-- name: is_alias
-- Whether a key is one of a project that was merged into another.
SELECT 1 FROM project_aliases WHERE key = :key;

-- name: project_around
-- The project with sessions whose root is the nearest of some directories; above a repository, only another one counts.
SELECT p.id, p.key, p.name, p.root, p.remote FROM projects AS p
WHERE p.root IN (SELECT value FROM json_each(:roots))
  AND EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id)
  AND (NOT :in_repository OR p.root = :root OR p.remote IS NOT NULL
       OR EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id AND s.branch IS NOT NULL))
ORDER BY LENGTH(p.root) DESC, p.id LIMIT 1;

-- name: add_project
-- A project seen for the first time.
INSERT INTO projects (key, name, root, remote, created_at, created_at_epoch)
VALUES (:key, :name, :root, :remote, :created_at, :created_at_epoch);

-- name: find_standing
-- What an arrival may change in its session.
SELECT id, status, prompt_counter, first_user_prompt IS NOT NULL AS named, updated_at_epoch,
       completed_at_epoch, end_reason, cwd, transcript_path, branch, commit_sha, past
FROM sdk_sessions WHERE claude_session_id = :claude_session_id;

-- name: add_session
-- A session heard of for the first time, by whichever of its events came first.
INSERT INTO sdk_sessions (claude_session_id, project, project_id, status, client, cwd, transcript_path, branch,
                          commit_sha, created_at, created_at_epoch, updated_at, updated_at_epoch)
VALUES (:claude_session_id, :project, :project_id, :status, :client, :cwd, :transcript_path, :branch,
        :commit_sha, :at, :at_epoch, :at, :at_epoch);

-- name: change_session
-- What a transaction's arrivals changed in a session; one that is of the present again is like any other.
UPDATE sdk_sessions
SET past = :past, offline = offline AND :past, held_until_epoch = held_until_epoch * :past, status = :status, prompt_counter = :prompt_counter,
    first_user_prompt = COALESCE(first_user_prompt, :first_user_prompt),
    cwd = :cwd, transcript_path = :transcript_path, branch = :branch, commit_sha = :commit_sha,
    end_reason = :end_reason, updated_at = :updated_at, updated_at_epoch = :updated_at_epoch,
    completed_at = :completed_at, completed_at_epoch = :completed_at_epoch
WHERE id = :id;

-- name: add_job
-- An accepted event; nothing happens when its effect is already there.
INSERT INTO pending_messages (event_id, session_id, kind, effect_key, prompt_number, tool_name, tool_use_id,
                              tool_input, tool_response, text, note, prompt_id, agent_id, agent_type, cwd, branch,
                              commit_sha, private, state, created_at, created_at_epoch, settled_at_epoch,
                              characters)
VALUES (:event_id, :session_id, :kind, :effect_key, :prompt_number, :tool_name, :tool_use_id,
        :tool_input, :tool_response, :text, :note, :prompt_id, :agent_id, :agent_type, :cwd, :branch,
        :commit_sha, :private, :state, :created_at, :created_at_epoch, :settled_at_epoch,
        :characters)
ON CONFLICT DO NOTHING;

-- name: add_prompt
-- What the user asked; no text when the turn was private.
INSERT INTO user_prompts (session_id, prompt_number, prompt, private, prompt_id, created_at, created_at_epoch)
VALUES (:session_id, :prompt_number, :prompt, :private, :prompt_id, :created_at, :created_at_epoch);

-- name: due_sessions
-- Free sessions whose next job is due, the oldest job first; a wait past the horizon is a clock that jumped.
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
SELECT COUNT(*) AS events, SUM(characters) AS characters, MIN(created_at_epoch) AS oldest_at,
       MAX(created_at_epoch) AS newest_at, MAX(kind IN ('stop', 'pre_compact')) AS stopped
FROM (SELECT kind, characters, created_at_epoch FROM pending_messages
      WHERE session_id = :session_id AND state = 'ready' AND state <> 'done'
      ORDER BY id LIMIT :limit);

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
-- Done, if it is still held as it was handed out.
UPDATE pending_messages SET state = 'done', settled_at_epoch = :now, reason = NULL
WHERE id = :id AND state = 'leased' AND lease_number = :number;

-- name: postpone_job
-- Ready again at a later time, if it is still held as it was handed out; a mere wait is no attempt.
UPDATE pending_messages
SET state = 'ready', not_before_epoch = :until, reason = :reason, attempts = attempts - :uncounted
WHERE id = :id AND state = 'leased' AND lease_number = :number;

-- name: park_job
-- Given up until somebody resumes it, if it is still held as it was handed out.
UPDATE pending_messages SET state = 'parked', reason = :reason
WHERE id = :id AND state = 'leased' AND lease_number = :number;

-- name: reclaim_jobs
-- Every lease belongs to a holder that is gone.
UPDATE pending_messages SET state = 'ready' WHERE state = 'leased';

-- name: resume_jobs
-- Every parked job starts anew.
UPDATE pending_messages SET state = 'ready', attempts = 0, not_before_epoch = 0, reason = NULL
WHERE state = 'parked';

-- name: hurry_jobs
-- Nothing waits any longer for a better moment.
UPDATE pending_messages SET not_before_epoch = 0
WHERE id IN (SELECT id FROM pending_messages WHERE state = 'ready' AND not_before_epoch > 0);

-- name: resume_job
-- One parked job starts anew.
UPDATE pending_messages SET state = 'ready', attempts = 0, not_before_epoch = 0, reason = NULL
WHERE id = :id AND state = 'parked';

-- name: drop_job
-- One parked job is done with, unobserved: kept as evidence.
UPDATE pending_messages SET state = 'done', settled_at_epoch = :now, reason = :reason
WHERE id = :id AND state = 'parked';

-- name: request_of
-- What the user had asked for last when a prompt's number was current; private words are not there to be found.
SELECT prompt FROM user_prompts
WHERE session_id = :session_id AND prompt_number <= :prompt_number AND prompt IS NOT NULL
ORDER BY prompt_number DESC LIMIT 1;

-- name: recorded_titles
-- The titles of a session's last observations, the newest first.
SELECT title FROM observations WHERE session_id = :session_id AND title IS NOT NULL
ORDER BY id DESC LIMIT :limit;

-- name: provenance
-- Where the work of a batch was done: its session, and the branch and commit of its last event.
SELECT s.project, s.project_id, s.client, s.offline, p.branch, p.commit_sha
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.id = :id;

-- name: add_observation
-- Something worth remembering, with where it came from.
INSERT INTO observations (session_id, project, project_id, type, title, subtitle, narrative, facts, concepts,
                          files_read, files_modified, prompt_number, client, branch, commit_sha, tool_use_ids,
                          created_at, created_at_epoch, content_key, provider, source, supersedes)
VALUES (:session_id, :project, :project_id, :type, :title, :subtitle, :narrative, :facts, :concepts,
        :files_read, :files_modified, :prompt_number, :client, :branch, :commit_sha, :tool_use_ids,
        :created_at, :created_at_epoch, :content_key, :provider, :source, :supersedes);

-- name: same_content
-- An observation of the project that said the same and still holds.
SELECT id FROM observations
WHERE project_id = :project_id AND content_key = :content_key AND created_at_epoch BETWEEN :since AND :at
  AND superseded_by IS NULL
ORDER BY created_at_epoch DESC LIMIT 1;

-- name: same_content_later
-- One that says the same soon after.
SELECT id FROM observations
WHERE project_id = :project_id AND content_key = :content_key AND created_at_epoch BETWEEN :at AND :until
  AND superseded_by IS NULL
ORDER BY created_at_epoch LIMIT 1;

-- name: first_seen
-- Where and when an observation was made. It stays there if somebody asked for it, or if it came to stand in another's place.
SELECT project_id, session_id, prompt_number, created_at, created_at_epoch, source = 'user' OR supersedes IS NOT NULL AS stays
FROM observations WHERE id = :id;

-- name: give_observation
-- Another session made it before.
UPDATE observations SET
    session_id = :session_id, project = :project, project_id = :project_id, type = :type, title = :title,
    subtitle = :subtitle, narrative = :narrative, facts = :facts, concepts = :concepts, files_read = :files_read,
    files_modified = :files_modified, prompt_number = :prompt_number, client = :client, branch = :branch,
    commit_sha = :commit_sha, tool_use_ids = :tool_use_ids, created_at = :created_at,
    created_at_epoch = :created_at_epoch, content_key = :content_key, provider = :provider, source = :source
WHERE id = :id;

-- name: add_sighting
-- Something remembered was seen again.
INSERT INTO observation_sightings (observation_id, session_id, prompt_number, created_at, created_at_epoch)
VALUES (:observation_id, :session_id, :prompt_number, :created_at, :created_at_epoch);

-- name: standing_observations
-- A project's newest observations from before some time that nothing has superseded.
SELECT id, type, title, subtitle, narrative, facts, concepts, files_read, files_modified
FROM observations INDEXED BY observations_standing
WHERE project_id = :project_id AND created_at_epoch <= :before AND superseded_by IS NULL
ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

-- name: supersede_observation
-- A newer observation stands in an older one's place.
UPDATE observations SET superseded_by = :newer WHERE id = :id;

-- name: add_summary
-- What a turn came to.
INSERT INTO session_summaries (session_id, project, request, investigated, learned, completed, next_steps,
                               files_read, files_edited, notes, prompt_number, created_at, created_at_epoch)
VALUES (:session_id, :project, :request, :investigated, :learned, :completed, :next_steps,
        :files_read, :files_edited, :notes, :prompt_number, :created_at, :created_at_epoch);

-- name: entitle_session
-- A session is called by the first request that was understood.
UPDATE sdk_sessions SET title = :title, subtitle = :subtitle WHERE id = :session_id AND title IS NULL;

-- name: add_spend
-- What a call for a session cost.
INSERT INTO spending (session_id, project, provider, model, input_tokens, cached_tokens, output_tokens, cost_usd,
                      created_at, created_at_epoch)
SELECT id, project, :provider, :model, :input_tokens, :cached_tokens, :output_tokens, :cost_usd,
       :created_at, :created_at_epoch
FROM sdk_sessions WHERE id = :session_id;

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
       SUM(output_tokens) AS output_tokens, SUM(cost_usd) AS cost_usd
FROM spending WHERE created_at_epoch >= :since
GROUP BY day, project, provider, model
ORDER BY day, project, provider, model;

-- name: session_by_id
-- A session by the database's id.
SELECT s.*, (SELECT COUNT(*) FROM pending_messages AS p WHERE p.session_id = s.id AND p.state <> 'done') AS pending
FROM sdk_sessions AS s WHERE s.id = :session;

-- name: session_by_client_id
-- A session by the client's own id.
SELECT s.*, (SELECT COUNT(*) FROM pending_messages AS p WHERE p.session_id = s.id AND p.state <> 'done') AS pending
FROM sdk_sessions AS s WHERE s.claude_session_id = :session;

-- name: fail_session
-- An abort was asked for.
UPDATE sdk_sessions SET status = 'failed' WHERE id = :session_id;

-- name: interrupt_sessions
-- Open sessions in which nothing happened for too long.
UPDATE sdk_sessions SET status = 'interrupted'
WHERE status IN ('initialized', 'active', 'summarizing') AND updated_at_epoch < :before;

-- name: count_open_sessions
-- Sessions somebody may still be working in.
SELECT COUNT(*) FROM sdk_sessions WHERE status IN ('initialized', 'active', 'summarizing');

-- name: figures
-- How many jobs are in each state.
SELECT state, jobs FROM queue_figures;

-- name: oldest_ready
-- Since when the longest waiting job has been ready; how old the past is says nothing about that.
SELECT p.created_at_epoch FROM pending_messages AS p INDEXED BY pending_messages_ready_age
CROSS JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.state = 'ready' AND s.past = 0
ORDER BY p.created_at_epoch LIMIT 1;

-- name: jobs_in_state
-- A page of jobs in one state, with all that rebuilds the event.
SELECT p.*, s.claude_session_id, s.client, s.project, s.transcript_path, u.prompt
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
LEFT JOIN user_prompts AS u
    ON p.kind = 'prompt' AND u.session_id = p.session_id AND u.prompt_number = p.prompt_number
WHERE p.state = :state AND p.id > :after
ORDER BY p.id LIMIT :limit;

-- name: counters
-- All that was counted over the store's life.
SELECT name, value FROM counters;

-- name: count
-- Count something.
INSERT INTO counters (name, value) VALUES (:name, :by)
ON CONFLICT (name) DO UPDATE SET value = value + excluded.value;

-- name: counted
-- How often something was counted.
SELECT value FROM counters WHERE name = :name;

-- name: last_event_at
-- When something last happened in any session.
SELECT MAX(updated_at_epoch) FROM sdk_sessions;

-- name: last_observation_at
-- When the newest thing that is remembered was done.
SELECT MAX(created_at_epoch) FROM observations;

-- name: tally_sessions
-- Sessions in which something happened since some time.
SELECT COUNT(*) FROM sdk_sessions WHERE updated_at_epoch >= :since;

-- name: tally_prompts
-- Prompts since some time.
SELECT COUNT(*)
FROM sdk_sessions AS s
CROSS JOIN user_prompts AS u ON u.session_id = s.id
WHERE s.updated_at_epoch >= :since AND u.created_at_epoch >= :since;

-- name: tally_events
-- Events since some time; only of sessions that are older than it is each one's long row looked at.
SELECT COUNT(*)
FROM sdk_sessions AS s
CROSS JOIN pending_messages AS p ON p.session_id = s.id
WHERE s.updated_at_epoch >= :since AND (s.created_at_epoch >= :since OR p.created_at_epoch >= :since);

-- name: tally_observations
-- Observations since some time, by type and by who wrote them.
SELECT type, COALESCE(provider, 'unknown') AS provider, COUNT(*) AS observations
FROM observations WHERE created_at_epoch >= :since
GROUP BY +type, provider;

-- name: tally_sightings
-- What was seen again since some time, and not stored twice.
SELECT COUNT(*)
FROM sdk_sessions AS s
CROSS JOIN observation_sightings AS o ON o.session_id = s.id
WHERE s.updated_at_epoch >= :since AND o.created_at_epoch >= :since;

-- name: tally_injections
-- What sessions were told since some time, by occasion.
SELECT event, COUNT(*) AS times, SUM(tokens) AS tokens
FROM injections WHERE created_at_epoch >= :since
GROUP BY event ORDER BY event;

-- name: tally_summaries
-- Summaries since some time.
SELECT COUNT(*)
FROM sdk_sessions AS s
CROSS JOIN session_summaries AS y ON y.session_id = s.id
WHERE s.updated_at_epoch >= :since AND y.created_at_epoch >= :since;

-- name: past_session
-- How much of a session is known, and from where.
SELECT s.past, s.seal,
       (SELECT COUNT(*) FROM pending_messages AS p WHERE p.session_id = s.id) AS events
FROM sdk_sessions AS s WHERE s.claude_session_id = :session;

-- name: is_forgotten
-- Whether a session was forgotten as a whole.
SELECT 1 FROM forgotten_sessions WHERE digest = :digest;

-- name: mark_past
-- A session that a transcript tells of: who observes it, and from when on.
UPDATE sdk_sessions SET past = 1, offline = :offline, held_until_epoch = :until WHERE claude_session_id = :session;

-- name: seal_session
-- All of a transcript, as it is now, was taken in.
UPDATE sdk_sessions SET seal = :seal WHERE claude_session_id = :session AND past = 1;

-- name: release_session
-- No more is on its way.
UPDATE sdk_sessions SET held_until_epoch = 0 WHERE claude_session_id = :session AND past = 1;

-- name: past_waiting
-- How many events of the past are to be observed, but for those of sessions that are held.
SELECT COUNT(*) FROM pending_messages AS p INDEXED BY pending_messages_unsettled
CROSS JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.state <> 'done' AND p.state IN ('ready', 'leased')
  AND s.past = 1 AND s.held_until_epoch <= :now AND s.status <> 'failed';

-- name: spent_on_past
-- What sessions of the past have cost since some time.
SELECT COALESCE(SUM(x.input_tokens + x.cached_tokens + x.output_tokens), 0) AS tokens, TOTAL(x.cost_usd) AS usd
FROM spending AS x JOIN sdk_sessions AS s ON s.id = x.session_id
WHERE x.created_at_epoch >= :since AND s.past = 1;
