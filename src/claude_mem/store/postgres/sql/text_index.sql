-- The statements of text_index.py. `-- name: x` opens one; the next line says what it is for.

-- name: some_unindexed
-- The newest memories of a kind that are not indexed yet; rows that another process is indexing are skipped.
SELECT id FROM unindexed WHERE kind = :kind ORDER BY id DESC LIMIT :limit FOR UPDATE SKIP LOCKED;

-- name: count_unindexed
-- How many memories are not indexed yet.
SELECT COUNT(*) FROM unindexed;

-- name: index_all
-- Queues all memories to be indexed again.
INSERT INTO unindexed (kind, id)
SELECT 'observation', id FROM observations UNION ALL SELECT 'summary', id FROM session_summaries
UNION ALL SELECT 'prompt', id FROM user_prompts UNION ALL SELECT 'evidence', id FROM pending_messages
ON CONFLICT DO NOTHING;

-- name: settle_unindexed
-- These are indexed.
DELETE FROM unindexed WHERE kind = :kind AND id IN (SELECT value FROM json_each(:ids));

-- name: unindexed_observation
-- Observations with all their searchable text, locked against changes.
SELECT o.id, o.session_id, o.project_id, o.title, o.subtitle, o.narrative, o.facts, o.concepts, o.files_read, o.files_modified,
       o.text, s.cwd
FROM observations AS o
JOIN sdk_sessions AS s ON s.id = o.session_id
WHERE o.id IN (SELECT value FROM json_each(:ids))
  AND o.project_id IS NOT NULL
ORDER BY o.id FOR UPDATE OF o;

-- name: unindexed_summary
-- The same of summaries.
SELECT y.id, y.session_id, s.project_id, y.request, y.investigated, y.learned, y.completed, y.next_steps, y.notes,
       y.files_read, y.files_edited, s.cwd
FROM session_summaries AS y
JOIN sdk_sessions AS s ON s.id = y.session_id
WHERE y.id IN (SELECT value FROM json_each(:ids))
ORDER BY y.id FOR UPDATE OF y;

-- name: unindexed_prompt
-- The same of prompts; private ones hold nothing.
SELECT u.id, u.session_id, s.project_id, u.prompt, s.cwd
FROM user_prompts AS u
JOIN sdk_sessions AS s ON s.id = u.session_id
WHERE u.id IN (SELECT value FROM json_each(:ids))
  AND u.prompt IS NOT NULL
ORDER BY u.id FOR UPDATE OF u;

-- name: unindexed_evidence
-- The same of events that say something; a prompt's words are indexed as a prompt.
SELECT p.id, p.session_id, s.project_id, p.kind, p.tool_name, p.tool_input, p.tool_response, p.text, COALESCE(p.cwd, s.cwd) AS cwd
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.id IN (SELECT value FROM json_each(:ids))
  AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL)
ORDER BY p.id FOR UPDATE OF p;

-- name: documents_of
-- What the index has of these memories.
SELECT memory_key, project_id, words, tokens FROM memory_documents
WHERE kind = :kind AND id IN (SELECT value FROM json_each(:ids));

-- name: add_document
-- A memory is in the index.
INSERT INTO memory_documents (project_id, memory_key, kind, id, words, tokens, is_tool)
VALUES (:project_id, :memory_key, :kind, :id, ARRAY(SELECT json_array_elements_text(CAST(:words AS json))), :tokens, :is_tool);

-- name: add_words
-- With each of its words, and where it stands.
INSERT INTO memory_words (project_id, memory_key, word, places)
SELECT :project_id, :memory_key, word, ARRAY(SELECT CAST(place AS integer) FROM json_array_elements_text(places) AS place)
FROM json_each(CAST(:places AS json)) AS w (word, places);

-- name: remove_words
-- Removes these from it.
DELETE FROM memory_words
WHERE project_id = :project_id AND memory_key = :memory_key AND word IN (SELECT value FROM json_array_elements_text(CAST(:words AS json)) AS value);

-- name: remove_document
-- Removes it from the index.
DELETE FROM memory_documents WHERE project_id = :project_id AND memory_key = :memory_key;

-- name: count_document
-- What a project's part of the index has in all.
INSERT INTO text_totals AS t (project_id, documents, tokens) VALUES (:project_id, :documents, :tokens)
ON CONFLICT (project_id) DO UPDATE
    SET documents = t.documents + excluded.documents, tokens = t.tokens + excluded.tokens;

-- name: totals
-- How many memories the index has, and how long they are.
SELECT COALESCE(SUM(documents), 0) AS documents, COALESCE(SUM(tokens), 0) AS tokens FROM text_totals;

-- name: clear_index
-- The whole index is to be made again.
TRUNCATE memory_words, memory_documents, memory_files, text_totals;

-- name: sizes_of_span
-- How many memories each session of a span has, and how many of them are not a tool's.
SELECT MIN(memory_key) AS first, COUNT(*) AS rows, SUM(1 - is_tool) AS said
FROM memory_documents WHERE project_id BETWEEN :first AND :last GROUP BY memory_key >> 33;

-- name: add_file
-- A memory is about a file.
INSERT INTO memory_files (base, project_id, memory_key, path, folder, how)
VALUES (:base, :project_id, :memory_key, :path, :folder, :how);
