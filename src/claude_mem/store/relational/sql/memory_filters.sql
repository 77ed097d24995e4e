-- The statements of memory_filters.py. `-- name: x` opens one; the next line says what it is for.

-- name: list_observation
-- Observations, to be narrowed by the conditions below and ordered by time.
SELECT m.id, m.created_at_epoch FROM observations AS m;

-- name: keys_observation
-- Where observations lie in the indexes, to be narrowed in the same way.
SELECT m.id, m.session_id, m.project_id FROM observations AS m;

-- name: keys_summary
-- Likewise, of summaries; from the sessions on where those are narrowed.
SELECT m.id, m.session_id, s.project_id FROM session_summaries AS m JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: keys_prompt
-- Likewise, of prompts.
SELECT m.id, m.session_id, s.project_id FROM user_prompts AS m JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.prompt IS NOT NULL;

-- name: keys_evidence
-- Likewise for events that have text.
SELECT m.id, m.session_id, s.project_id FROM pending_messages AS m JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.private = 0 AND (m.tool_name IS NOT NULL OR m.text IS NOT NULL);

-- name: count_observation
-- How many such a list has.
SELECT COUNT(*) FROM observations AS m;

-- name: list_summary
-- Summaries, likewise.
SELECT m.id, m.created_at_epoch FROM session_summaries AS m CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: list_prompt
-- Likewise for prompts; private ones have no text.
SELECT m.id, m.created_at_epoch FROM user_prompts AS m CROSS JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.prompt IS NOT NULL;

-- name: list_evidence
-- Likewise for events that have text.
SELECT m.id, m.created_at_epoch FROM pending_messages AS m CROSS JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.private = 0 AND (m.tool_name IS NOT NULL OR m.text IS NOT NULL);

-- name: count_summary
-- Likewise.
SELECT COUNT(*) FROM session_summaries AS m CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: count_prompt
-- Likewise.
SELECT COUNT(*) FROM user_prompts AS m CROSS JOIN sdk_sessions AS s ON s.id = m.session_id AND m.prompt IS NOT NULL;

-- name: count_evidence
-- Likewise.
SELECT COUNT(*) FROM pending_messages AS m CROSS JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.private = 0 AND (m.tool_name IS NOT NULL OR m.text IS NOT NULL);

-- name: all_folders
-- All folders, with one step along the index for each; there are far fewer folders than memories.
WITH RECURSIVE folders (folder) AS (
    SELECT MIN(folder) FROM memory_files
    UNION ALL
    SELECT (SELECT MIN(folder) FROM memory_files WHERE folder > folders.folder) FROM folders WHERE folder IS NOT NULL
)
SELECT folder FROM folders WHERE folder IS NOT NULL;

-- name: files_about
-- The files that some memories are about.
SELECT memory_key, path FROM memory_files WHERE memory_key IN (SELECT value FROM json_each(:memory_keys));

-- name: files_touched
-- The files that some memories are about, except those that they only mention.
SELECT memory_key, path FROM memory_files
WHERE memory_key IN (SELECT value FROM json_each(:memory_keys)) AND how <> 'named';
