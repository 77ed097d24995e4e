-- The statements of events.py. `-- name: x` opens one; the next line says what it is for.

-- name: find_session_state
-- What an event may change in its session.
SELECT id, status, prompt_counter, first_user_prompt IS NOT NULL AS named, updated_at_epoch,
       completed_at_epoch, end_reason, cwd, transcript_path, branch, commit_sha, past
FROM sdk_sessions WHERE claude_session_id = :claude_session_id;

-- name: change_session
-- What the events of a transaction changed in a session; one that is of the present again is like any other.
UPDATE sdk_sessions
SET past = :past, offline = offline AND :past, held_until_epoch = held_until_epoch * :past, status = :status, prompt_counter = :prompt_counter,
    first_user_prompt = COALESCE(first_user_prompt, :first_user_prompt), title = COALESCE(title, :title),
    cwd = :cwd, transcript_path = :transcript_path, branch = :branch, commit_sha = :commit_sha,
    end_reason = :end_reason, updated_at = :updated_at, updated_at_epoch = :updated_at_epoch,
    completed_at = :completed_at, completed_at_epoch = :completed_at_epoch
WHERE id = :id;

-- name: spent_on_past
-- What sessions of the past have cost since some time.
SELECT COALESCE(SUM(x.input_tokens + x.cached_tokens + x.output_tokens), 0) AS tokens, TOTAL(x.cost_usd) AS usd
FROM spending AS x JOIN sdk_sessions AS s ON s.id = x.session_id
WHERE x.created_at_epoch >= :since AND s.past = 1;
