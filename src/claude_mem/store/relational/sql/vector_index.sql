-- The statements of vector_index.py. `-- name: x` opens one; the next line says what it is for.

-- name: remove_some_vectors
-- Any few: deleting all of them at once would block other writers for seconds.
DELETE FROM memory_vectors WHERE memory_key IN (SELECT memory_key FROM memory_vectors LIMIT :limit);

-- name: vectors_there
-- Which of these memories have one.
SELECT memory_key FROM memory_vectors WHERE memory_key IN (SELECT value FROM json_each(:memory_keys));

-- name: count_vectors
-- How many are kept.
SELECT COUNT(*) FROM memory_vectors;

-- name: session_of_{kind}
-- The session in which a memory was made, or the next remaining one.
SELECT session_id FROM {table} WHERE id >= :id ORDER BY id LIMIT 1;

-- name: forgotten_vectors
-- Vectors that a backend may still keep though their memories are gone, some at a time.
SELECT name, value FROM derived WHERE name BETWEEN 'vectors_forgotten_' AND 'vectors_forgotten_~' LIMIT 1;

-- name: forget_vector_notes
-- Forgets the state of all vectors: they are rebuilt.
DELETE FROM derived WHERE name BETWEEN 'vectors_' AND 'vectors_~';

-- name: remove_vectors
-- Some, by their keys.
DELETE FROM memory_vectors WHERE memory_key IN (SELECT value FROM json_each(:memory_keys));

-- name: vectors_at
-- Those of these memories that are kept.
SELECT memory_key, vector FROM memory_vectors WHERE memory_key IN (SELECT value FROM json_each(:memory_keys));
