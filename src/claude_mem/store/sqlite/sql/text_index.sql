-- The statements of text_index.py. `-- name: x` opens one; the next line says what it is for.

-- name: unindexed_observation
-- Observations past a mark, with all their searchable text.
SELECT o.id, o.session_id, o.project_id, o.title, o.subtitle, o.narrative, o.facts, o.concepts, o.files_read, o.files_modified,
       o.text, s.cwd
FROM observations AS o
JOIN sdk_sessions AS s ON s.id = o.session_id
WHERE o.id > :after AND o.id <= :upto AND o.project_id IS NOT NULL ORDER BY o.id LIMIT :limit;

-- name: unindexed_summary
-- Summaries past a mark.
SELECT y.id, y.session_id, s.project_id, y.request, y.investigated, y.learned, y.completed, y.next_steps, y.notes,
       y.files_read, y.files_edited, s.cwd
FROM session_summaries AS y
JOIN sdk_sessions AS s ON s.id = y.session_id
WHERE y.id > :after AND y.id <= :upto ORDER BY y.id LIMIT :limit;

-- name: unindexed_prompt
-- Prompts past a mark; private ones have no text.
SELECT u.id, u.session_id, s.project_id, u.prompt, s.cwd
FROM user_prompts AS u
JOIN sdk_sessions AS s ON s.id = u.session_id
WHERE u.id > :after AND u.id <= :upto AND u.prompt IS NOT NULL ORDER BY u.id LIMIT :limit;

-- name: unindexed_evidence
-- Events past a mark that have text; a prompt's text is indexed as a prompt.
SELECT p.id, p.session_id, s.project_id, p.kind, p.tool_name, p.tool_input, p.tool_response, p.text, COALESCE(p.cwd, s.cwd) AS cwd
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.id > :after AND p.id <= :upto AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL)
ORDER BY p.id LIMIT :limit;

-- name: add_words
-- A memory's words.
INSERT INTO memory_text (rowid, title, body, names, tool) VALUES (:memory_key, :title, :body, :names, :tool);

-- name: remove_words
-- Exactly the words that were added, because the index does not store a copy.
INSERT INTO memory_text (memory_text, rowid, title, body, names, tool)
VALUES ('delete', :memory_key, :title, :body, :names, :tool);

-- name: merges_pairs
-- Whether two segments of a size are enough to be merged; unless it is said, SQLite waits for four.
SELECT COUNT(*) FROM memory_text_config WHERE k = 'usermerge' AND v = 2;

-- name: merge_pairs
-- Let two be enough.
INSERT INTO memory_text (memory_text, rank) VALUES ('usermerge', 2);

-- name: merge_segments
-- Merges some pages of the index; a negative number begins to merge it into one segment without deleted words.
INSERT INTO memory_text (memory_text, rank) VALUES ('merge', :pages);

-- name: files_of
-- The files a memory is about.
SELECT path, how FROM memory_files WHERE memory_key = :memory_key;

-- name: clear_words
-- The whole index is to be made again.
INSERT INTO memory_text (memory_text) VALUES ('delete-all');

-- name: clear_files
-- The same, of the files.
DELETE FROM memory_files;

-- name: how_often
-- In how many memories of a span an expression matches.
SELECT COUNT(*) FROM memory_text WHERE memory_text MATCH :expression AND rowid BETWEEN :first AND :last;

-- name: how_often_at_most
-- The same, counted no further than needed.
SELECT COUNT(*) FROM (
    SELECT 1 FROM memory_text WHERE memory_text MATCH :expression AND rowid BETWEEN :first AND :last LIMIT :most
);

-- name: weighed_matches
-- All matches of an expression in a span, how good each is (a title's words count most), and how good without a tool's words.
SELECT rowid, -bm25(memory_text, 2.0, 1.0, 0.5, 1.0), -bm25(memory_text, 2.0, 1.0, 0.5, 0.0) FROM memory_text
WHERE memory_text MATCH :expression AND rowid BETWEEN :first AND :last;

-- name: weighed_at_most
-- The same, no further than needed, and as if each match contained it infinitely often, which shows its overall rarity.
SELECT rowid, -bm25(memory_text, 2.0, 1.0, 0.5, 1.0), -bm25(memory_text, 2.0, 1.0, 0.5, 0.0),
       -bm25(memory_text, 1e18, 1e18, 1e18, 1e18) FROM memory_text
WHERE memory_text MATCH :expression AND rowid BETWEEN :first AND :last LIMIT :most;

-- name: matches
-- All matches of an expression in a span.
SELECT rowid FROM memory_text WHERE memory_text MATCH :expression AND rowid BETWEEN :first AND :last;

-- name: matches_among
-- The matches of an expression among some memories, scanning all rows in between.
SELECT rowid FROM memory_text
WHERE memory_text MATCH :expression AND rowid BETWEEN :first AND :last
  AND +rowid IN (SELECT value FROM json_each(:memory_keys));

-- name: probed_matches
-- The same, looking each of the memories up.
SELECT rowid FROM memory_text
WHERE memory_text MATCH :expression AND rowid IN (SELECT value FROM json_each(:memory_keys));

-- name: newest_matches
-- The newest matches of an expression that is too frequent to be scored.
SELECT rowid FROM memory_text
WHERE memory_text MATCH :expression AND rowid BETWEEN :first AND :last
ORDER BY rowid DESC LIMIT :limit;

-- name: sizes_of_span
-- How many memories each session of a span has, and how many of them are not a tool's (the size of the last column is 0).
SELECT MIN(id) AS first, COUNT(*) AS rows, SUM(SUBSTR(sz, -1) = X'00') AS said
FROM memory_text_docsize WHERE id BETWEEN :first AND :last GROUP BY id >> 27;

-- name: averages
-- How many memories the index has, and how long they are: a record of its own that changes with each of them.
SELECT block FROM memory_text_data WHERE id = 1;

-- name: add_file
-- A memory is about a file.
INSERT INTO memory_files (base, memory_key, path, folder, how) VALUES (:base, :memory_key, :path, :folder, :how);
