-- The statements of text_index.py. `-- name: x` opens one; the next line says what it is for.

-- name: derived
-- What is known of the indexes, by name.
SELECT value FROM derived WHERE name = :name;

-- name: set_derived
-- Note something about the indexes.
INSERT INTO derived (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: last_observation
-- The newest observation's id.
SELECT COALESCE(MAX(id), 0) FROM observations;

-- name: last_summary
-- The newest summary's id.
SELECT COALESCE(MAX(id), 0) FROM session_summaries;

-- name: last_prompt
-- The newest prompt's id.
SELECT COALESCE(MAX(id), 0) FROM user_prompts;

-- name: remove_files
-- A memory is about no file any more.
DELETE FROM memory_files WHERE memory_key = :memory_key;

-- name: forget_derived
-- What was noted is settled.
DELETE FROM derived WHERE name = :name;
