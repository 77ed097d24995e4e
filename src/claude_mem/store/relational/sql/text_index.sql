-- The statements of text_index.py. `-- name: x` opens one; the next line says what it is for.

-- name: derived
-- What is known of the indexes, by name.
SELECT value FROM derived WHERE name = :name;

-- name: set_derived
-- Stores a value about the indexes.
INSERT INTO derived (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: last_{kind}
-- The newest memory's id.
SELECT COALESCE(MAX(id), 0) FROM {table};

-- name: remove_files
-- A memory is no longer about any file.
DELETE FROM memory_files WHERE memory_key = :memory_key;

-- name: forget_derived
-- What was noted is settled.
DELETE FROM derived WHERE name = :name;
