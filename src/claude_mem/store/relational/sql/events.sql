-- The statements of events.py. `-- name: x` opens one; the next line says what it is for.

-- name: event_accepted
-- The session of an event that was accepted before, under the name the hook gave it.
SELECT session_id FROM pending_messages WHERE event_id = :event_id;

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

-- name: mark_failed
-- A tool call that was recorded as any other has failed; one that was emptied stays as it is.
UPDATE pending_messages SET kind = 'tool_failure'
WHERE session_id = :session_id AND effect_key = :effect_key AND kind = 'tool_use' AND private = 0;

-- name: add_prompt
-- Adds a prompt, without its text if the turn is private.
INSERT INTO user_prompts (session_id, prompt_number, prompt, private, prompt_id, created_at, created_at_epoch)
VALUES (:session_id, :prompt_number, :prompt, :private, :prompt_id, :created_at, :created_at_epoch);

-- name: turn_prompt
-- The kind of the event that began or ended a session's last turn, and the last prompt.
SELECT p.kind, (SELECT u.prompt FROM user_prompts AS u WHERE u.session_id = s.id
                ORDER BY u.prompt_number DESC LIMIT 1) AS prompt
FROM sdk_sessions AS s JOIN pending_messages AS p ON p.session_id = s.id AND p.kind IN ('prompt', 'stop')
WHERE s.claude_session_id = :session ORDER BY p.id DESC LIMIT 1;

-- name: past_session
-- How many events of a session are known, and from which source.
SELECT s.past, s.seal,
       (SELECT COUNT(*) FROM pending_messages AS p WHERE p.session_id = s.id) AS events
FROM sdk_sessions AS s WHERE s.claude_session_id = :session;

-- name: is_forgotten
-- Whether all of a session was forgotten.
SELECT 1 FROM forgotten_sessions WHERE digest = :digest;

-- name: mark_past
-- Marks a session from a transcript: whether it is observed offline, and from when on.
UPDATE sdk_sessions SET past = 1, offline = :offline, held_until_epoch = :until WHERE claude_session_id = :session;

-- name: seal_session
-- A transcript was imported completely, in its current state.
UPDATE sdk_sessions SET seal = :seal WHERE claude_session_id = :session AND past = 1;

-- name: release_session
-- No more is on its way.
UPDATE sdk_sessions SET held_until_epoch = 0 WHERE claude_session_id = :session AND past = 1;

-- name: past_waiting
-- How many past events are still to be observed, except those of sessions on hold.
SELECT COUNT(*) FROM pending_messages AS p INDEXED BY pending_messages_unsettled
CROSS JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.state <> 'done' AND p.state IN ('ready', 'leased')
  AND s.past = 1 AND s.held_until_epoch <= :now AND s.status <> 'failed';

-- name: add_session
-- A new session, created by the first of its events to arrive.
INSERT INTO sdk_sessions (claude_session_id, project, project_id, status, client, cwd, transcript_path, branch,
                          commit_sha, created_at, created_at_epoch, updated_at, updated_at_epoch)
VALUES (:claude_session_id, :project, :project_id, :status, :client, :cwd, :transcript_path, :branch,
        :commit_sha, :created_at, :created_at_epoch, :created_at, :created_at_epoch);

-- name: find_session_state
-- What an event may change in its session, which waits for whoever changes it now.
SELECT id, status, prompt_counter, first_user_prompt IS NOT NULL AS named, updated_at_epoch,
       completed_at_epoch, end_reason, cwd, transcript_path, branch, commit_sha, past
FROM sdk_sessions WHERE claude_session_id = :claude_session_id /* FOR UPDATE */;

-- name: change_session
-- What the events of a transaction changed in a session; one that is of the present again is like any other.
UPDATE sdk_sessions
SET past = :past, offline = offline * :past, held_until_epoch = held_until_epoch * :past, status = :status,
    prompt_counter = :prompt_counter,
    first_user_prompt = COALESCE(first_user_prompt, :first_user_prompt), title = COALESCE(title, :title),
    cwd = :cwd, transcript_path = :transcript_path, branch = :branch, commit_sha = :commit_sha,
    end_reason = :end_reason, updated_at = :updated_at, updated_at_epoch = :updated_at_epoch,
    completed_at = :completed_at, completed_at_epoch = :completed_at_epoch
WHERE id = :id;

-- name: spent_on_past
-- What sessions of the past have cost since some time.
SELECT COALESCE(SUM(x.input_tokens + x.cached_tokens + x.output_tokens), 0) AS tokens,
       COALESCE(SUM(x.cost_usd), 0.0) AS usd
FROM spending AS x JOIN sdk_sessions AS s ON s.id = x.session_id
WHERE x.created_at_epoch >= :since AND s.past = 1;
