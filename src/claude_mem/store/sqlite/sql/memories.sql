-- The statements of memories.py. `-- name: x` opens one; the next line says what it is for.

-- name: files_under_among
-- The same, of some memories.
SELECT f.memory_key, f.path FROM json_each(:memory_keys) AS k CROSS JOIN memory_files AS f ON f.memory_key = k.value
WHERE f.folder = :folder OR f.folder LIKE :folder || '/%' LIMIT :limit;

-- name: files_under
-- Memories of files in a folder and below it.
SELECT memory_key, path FROM memory_files
WHERE folder >= :folder AND folder < :folder || '0' AND (folder = :folder OR folder LIKE :folder || '/%')
  AND memory_key BETWEEN :first AND :last
LIMIT :limit;
