-- The statements of memory_filters.py. `-- name: x` opens one; the next line says what it is for.

-- name: files_named
-- Memories of files of one name, the newest of each kind and project first.
SELECT memory_key, path, how FROM memory_files
WHERE base = :base AND memory_key BETWEEN :first AND :last ORDER BY memory_key DESC LIMIT :limit;

-- name: all_files
-- Every file that a memory of a span is about.
SELECT memory_key, path, how FROM memory_files WHERE memory_key BETWEEN :first AND :last;

-- name: files_in
-- Memories of files in some folders, and of files of one name.
SELECT memory_key, path, how FROM memory_files
WHERE folder IN (SELECT value FROM json_each(:folders)) AND memory_key BETWEEN :first AND :last
UNION ALL
SELECT memory_key, path, how FROM memory_files WHERE base = :base AND memory_key BETWEEN :first AND :last;
