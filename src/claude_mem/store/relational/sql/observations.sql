-- The statements of observations.py. `-- name: x` opens one; the next line says what it is for.

-- name: same_content
-- A current observation of the project with the same content.
SELECT id FROM observations
WHERE project_id = :project_id AND content_key = :content_key AND created_at_epoch BETWEEN :since AND :at
  AND superseded_by IS NULL
ORDER BY created_at_epoch DESC LIMIT 1;

-- name: same_content_later
-- An observation with the same content, made at about that time.
SELECT id FROM observations
WHERE project_id = :project_id AND content_key = :content_key AND created_at_epoch BETWEEN :at AND :until
  AND superseded_by IS NULL
ORDER BY created_at_epoch LIMIT 1;

-- name: first_seen
-- Where and when an observation was made. It stays there if a user saved it, or if it replaced another one.
SELECT project_id, session_id, prompt_number, created_at, created_at_epoch, source = 'user' OR supersedes IS NOT NULL AS stays
FROM observations WHERE id = :id;

-- name: move_observation
-- Another session made the observation earlier.
UPDATE observations SET
    session_id = :session_id, project = :project, project_id = :project_id, type = :type, title = :title,
    subtitle = :subtitle, narrative = :narrative, facts = :facts, concepts = :concepts, files_read = :files_read,
    files_modified = :files_modified, prompt_number = :prompt_number, client = :client, branch = :branch,
    commit_sha = :commit_sha, tool_use_ids = :tool_use_ids, created_at = :created_at,
    created_at_epoch = :created_at_epoch, content_key = :content_key, provider = :provider, source = :source
WHERE id = :id;

-- name: add_sighting
-- An existing observation was made again.
INSERT INTO observation_sightings (observation_id, session_id, prompt_number, created_at, created_at_epoch)
VALUES (:observation_id, :session_id, :prompt_number, :created_at, :created_at_epoch);

-- name: supersede_observation
-- A newer observation supersedes an older one.
UPDATE observations SET superseded_by = :newer WHERE id = :id;

-- name: set_session_title
-- A session is named after its first prompt and, once a turn with a request has a result, after that request.
-- Its subtitle is the outcome of the last such turn.
UPDATE sdk_sessions
SET subtitle = COALESCE(:subtitle, subtitle),
    title = CASE WHEN title IS NULL
                   OR (:subtitle IS NOT NULL AND NOT EXISTS (
                          SELECT 1 FROM session_summaries AS y
                          WHERE y.session_id = :session_id AND y.id < :summary_id AND y.request IS NOT NULL
                            AND COALESCE(y.completed, y.learned) IS NOT NULL))
                 THEN COALESCE(:title, title) ELSE title END
WHERE id = :session_id;

-- name: revise_observation
-- It is so from now on.
UPDATE observations
SET type = :type, title = :title, subtitle = :subtitle, narrative = :narrative, facts = :facts, concepts = :concepts,
    pinned = :pinned, wrong = :wrong, superseded_by = :superseded_by, content_key = :content_key,
    edited_at_epoch = :edited_at_epoch
WHERE id = :id;

-- name: current_observations
-- A project's newest observations from before a given time that were not superseded.
SELECT id, type, title, subtitle, narrative, facts, concepts, files_read, files_modified
FROM observations INDEXED BY observations_current
WHERE project_id = :project_id AND created_at_epoch <= :before AND superseded_by IS NULL
ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

-- name: add_observation
-- Adds an observation with its provenance.
INSERT INTO observations (session_id, project, project_id, type, title, subtitle, narrative, facts, concepts,
                          files_read, files_modified, text, prompt_number, client, branch, commit_sha, tool_use_ids,
                          created_at, created_at_epoch, content_key, provider, source, pinned, wrong, supersedes)
VALUES (:session_id, :project, :project_id, :type, :title, :subtitle, :narrative, :facts, :concepts,
        :files_read, :files_modified, :text, :prompt_number, :client, :branch, :commit_sha, :tool_use_ids,
        :created_at, :created_at_epoch, :content_key, :provider, :source, :pinned, :wrong, :supersedes);

-- name: add_summary
-- What a turn came to.
INSERT INTO session_summaries (session_id, project, request, investigated, learned, completed, next_steps,
                               files_read, files_edited, notes, prompt_number, created_at, created_at_epoch, source)
VALUES (:session_id, :project, :request, :investigated, :learned, :completed, :next_steps,
        :files_read, :files_edited, :notes, :prompt_number, :created_at, :created_at_epoch, :source);

-- name: current_titles
-- A session's observations that were not superseded, without those that the user saved or pinned.
SELECT id, title FROM observations
WHERE session_id = :session_id AND superseded_by IS NULL AND source <> 'user' AND pinned = 0 AND title IS NOT NULL;

-- name: observation_to_revise
-- What of an observation can be corrected, and what that depends on.
SELECT id, session_id, project_id, type, title, subtitle, narrative, facts, concepts, files_read, files_modified, pinned, wrong,
       superseded_by, content_key, edited_at_epoch
FROM observations WHERE id = :id /* FOR UPDATE */;
