-- What a person corrects. Each statement has a name and a purpose.

-- name: observation_to_revise
-- What of an observation can be corrected, and what that depends on.
SELECT id, session_id, project_id, type, title, subtitle, narrative, facts, concepts, files_read, files_modified, pinned, wrong,
       superseded_by, content_key, edited_at_epoch
FROM observations WHERE id = :id;

-- name: revise_observation
-- It is so from now on.
UPDATE observations
SET type = :type, title = :title, subtitle = :subtitle, narrative = :narrative, facts = :facts, concepts = :concepts,
    pinned = :pinned, wrong = :wrong, superseded_by = :superseded_by, content_key = :content_key,
    edited_at_epoch = :edited_at_epoch
WHERE id = :id;
