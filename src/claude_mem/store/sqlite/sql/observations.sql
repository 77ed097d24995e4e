-- The statements of observations.py. `-- name: x` opens one; the next line says what it is for.

-- name: standing_titles
-- A session's observations that nothing has superseded, without those the user saved or pinned.
SELECT id, title FROM observations
WHERE session_id = :session_id AND superseded_by IS NULL AND source <> 'user' AND NOT pinned AND title IS NOT NULL;

-- name: observation_to_revise
-- What of an observation can be corrected, and what that depends on.
SELECT id, session_id, project_id, type, title, subtitle, narrative, facts, concepts, files_read, files_modified, pinned, wrong,
       superseded_by, content_key, edited_at_epoch
FROM observations WHERE id = :id;
