-- The statements of memories.py. `-- name: x` opens one; the next line says what it is for.

-- name: files_under
-- Memories of files in a folder and below it.
SELECT memory_key, path FROM memory_files
WHERE folder >= :folder AND folder < CAST(:folder AS text) || '0'
  AND (folder = :folder OR STARTS_WITH(folder, CAST(:folder AS text) || '/'))
  AND project_id BETWEEN :first AND :last
LIMIT :limit;

-- name: files_under_among
-- The same, of some memories.
SELECT memory_key, path FROM memory_files
WHERE memory_key IN (SELECT value FROM json_each(:memory_keys))
  AND (folder = :folder OR STARTS_WITH(folder, CAST(:folder AS text) || '/'))
LIMIT :limit;
