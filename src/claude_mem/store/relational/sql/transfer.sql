-- The statements of transfer.py. `-- name: x` opens one; the next line says what it is for.

-- name: chosen_sessions
-- The sessions that an export is about.
SELECT id FROM sdk_sessions
WHERE (:project_id IS NULL OR project_id = :project_id)
  AND (:session IS NULL OR claude_session_id = :session)
  AND (:since IS NULL OR updated_at_epoch >= :since)
  AND (:until IS NULL OR created_at_epoch < :until)
ORDER BY created_at_epoch, claude_session_id

-- name: settled_events
-- What was done in one, in the order in which it was taken in: only the ids, for the rows are too long to be sorted.
SELECT id FROM pending_messages WHERE session_id = :session AND state = 'done' ORDER BY id

-- name: absorb_alias
-- A key of a project that was merged elsewhere; a key of an existing project stays with it.
INSERT INTO project_aliases (key, project_id)
SELECT :alias, id FROM projects WHERE key = :key AND NOT EXISTS (SELECT 1 FROM projects AS p WHERE p.key = :alias)
ON CONFLICT (key) DO NOTHING

-- name: absorb_name
-- The user renamed a project.
UPDATE projects SET named = 1 WHERE key = :key

-- name: find_project_whole
-- A project by its key, or by one of a project that was merged into it.
SELECT id, name FROM projects
WHERE id = COALESCE((SELECT project_id FROM project_aliases WHERE key = :key),
                    (SELECT p.id FROM projects AS p WHERE p.key = :key))

-- name: absorb_session
-- An imported session; an existing one is not changed.
INSERT INTO sdk_sessions (
    claude_session_id, project, project_id, title, subtitle, first_user_prompt, prompt_counter, status, client, cwd,
    transcript_path, branch, commit_sha, end_reason, created_at, created_at_epoch, updated_at, updated_at_epoch,
    completed_at, completed_at_epoch
)
VALUES (
    :session_id, :project_name, :project_id, :title, :subtitle, :first_user_prompt, :prompt_counter, :status, :client,
    :cwd, :transcript_path, :branch, :commit, :end_reason, :created_at_iso, :created_at, :updated_at_iso, :updated_at,
    :completed_at_iso, :completed_at
)

-- name: find_session_whole
-- Where a session's memories belong.
SELECT id, project, project_id, client AS session_client FROM sdk_sessions WHERE claude_session_id = :session_id

-- name: set_author
-- A session is a member's of the team.
UPDATE sdk_sessions SET author = :author WHERE claude_session_id = :session_id

-- name: session_author
-- A session's author; NULL: the user.
SELECT author FROM sdk_sessions WHERE claude_session_id = :session_id

-- name: find_prompt
-- Whether a prompt is there already.
SELECT 1 FROM user_prompts WHERE session_id = :id AND prompt_number = :number

-- name: find_event
-- Whether an event is there already, under its id or as an effect.
SELECT 1 FROM pending_messages WHERE event_id = :event_id OR (session_id = :id AND effect_key = :effect_key)

-- name: absorb_supersession
-- The observation that it supersedes.
UPDATE observations SET superseded_by = :newer WHERE id = :older AND superseded_by IS NULL

-- name: find_sighting
-- Whether it is known that something was seen again.
SELECT 1 FROM observation_sightings
WHERE observation_id = :observation_id AND session_id = :id AND created_at_epoch = :at

-- name: sessions_of_memories
-- The sessions of some memories.
SELECT id FROM sdk_sessions
WHERE id IN (
    SELECT session_id FROM observations WHERE id IN (SELECT value FROM json_each(:observations))
    UNION SELECT session_id FROM session_summaries WHERE id IN (SELECT value FROM json_each(:summaries))
    UNION SELECT session_id FROM user_prompts WHERE id IN (SELECT value FROM json_each(:prompts))
)
ORDER BY created_at_epoch, claude_session_id

-- name: export_sessions
-- They themselves.
SELECT s.claude_session_id AS session_id, p.key AS project, s.title, s.subtitle, s.first_user_prompt, s.prompt_counter,
       s.status, s.client, s.author, s.cwd, s.transcript_path, s.branch, s.commit_sha AS "commit", s.end_reason,
       s.created_at_epoch AS created_at, s.updated_at_epoch AS updated_at, s.completed_at_epoch AS completed_at
FROM sdk_sessions AS s JOIN projects AS p ON p.id = s.project_id
WHERE s.id IN (SELECT value FROM json_each(:sessions))
ORDER BY s.created_at_epoch, s.claude_session_id

-- name: export_prompts
-- The prompts of a session.
SELECT s.claude_session_id AS session_id, m.prompt_number AS number, m.prompt AS text, m.private, m.prompt_id,
       m.created_at_epoch AS at
FROM user_prompts AS m JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.session_id = :session AND (:some IS NULL OR m.id IN (SELECT value FROM json_each(:some)))
ORDER BY m.prompt_number

-- name: export_events
-- Some of it.
SELECT s.claude_session_id AS session_id, m.event_id, m.kind AS event_kind, m.effect_key, m.prompt_number, m.tool_name,
       m.tool_use_id, m.tool_input, m.tool_response, m.text, m.note, m.prompt_id, m.agent_id, m.agent_type, m.cwd,
       m.branch, m.commit_sha AS "commit", m.private, m.created_at_epoch AS at
FROM pending_messages AS m JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.id IN (SELECT value FROM json_each(:ids))
ORDER BY m.id

-- name: export_summaries
-- What each turn came to.
SELECT s.claude_session_id AS session_id, m.request, m.investigated, m.learned, m.completed, m.next_steps, m.files_read,
       m.files_edited, m.notes, m.prompt_number, m.source, m.created_at_epoch AS at
FROM session_summaries AS m CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE +m.session_id IN (SELECT value FROM json_each(:sessions))
  AND (:some IS NULL OR +m.id IN (SELECT value FROM json_each(:some)))
ORDER BY m.created_at_epoch, m.id

-- name: export_observations
-- What was understood of it.
SELECT s.claude_session_id AS session_id, CASE WHEN m.project_id <> s.project_id THEN p.key END AS project, m.type, m.title, m.subtitle, m.narrative, m.facts, m.concepts, m.files_read,
       m.files_modified, m.text, m.prompt_number, m.client, m.branch, m.commit_sha AS "commit", m.tool_use_ids,
       o.created_at_epoch AS older_at, o.content_key AS older_key, t.claude_session_id AS older_session,
       m.provider, m.pinned, m.wrong, m.source, m.created_at_epoch AS at
FROM observations AS m CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
LEFT JOIN projects AS p ON p.id = m.project_id
LEFT JOIN observations AS o ON o.id = m.supersedes
LEFT JOIN sdk_sessions AS t ON t.id = o.session_id
WHERE +m.session_id IN (SELECT value FROM json_each(:sessions))
  AND (:some IS NULL OR +m.id IN (SELECT value FROM json_each(:some)))
ORDER BY m.created_at_epoch, m.id

-- name: find_named_observation
-- An observation by its identity, and its owner.
SELECT m.id, m.project_id, m.content_key, m.text, m.created_at_epoch, s.client AS session_client
FROM observations AS m INDEXED BY observations_by_time CROSS JOIN sdk_sessions AS s ON s.id = m.session_id
WHERE m.created_at_epoch = :at AND m.content_key IS :content_key AND s.claude_session_id = :session_id

-- name: find_summary
-- Whether a summary is there already.
SELECT 1 FROM session_summaries
WHERE session_id = :id AND created_at_epoch = :at AND request IS :request AND completed IS :completed
