-- The statements of vector_index.py. `-- name: x` opens one; the next line says what it is for.

-- name: unembedded_observation
-- Observations past a mark, with the text to embed.
SELECT id, session_id, project_id, title, subtitle, SUBSTR(COALESCE(narrative, text), 1, :most) AS words, facts
FROM observations WHERE id > :after ORDER BY id LIMIT :limit;

-- name: embedded_anew
-- Observations whose text changed since their vectors were computed, and the entries that record this.
SELECT o.id, o.session_id, o.project_id, o.title, o.subtitle, SUBSTR(COALESCE(o.narrative, o.text), 1, :most) AS words, o.facts,
       d.name, d.value
FROM derived AS d LEFT JOIN observations AS o ON o.id = CAST(SUBSTR(d.name, 15) AS INTEGER)
WHERE d.name BETWEEN 'vectors_again_' AND 'vectors_again_~' LIMIT :limit;

-- name: settle_again
-- Its vector is for the new text, unless that was changed again in the meantime.
DELETE FROM derived WHERE name = :name AND value = :value;

-- name: unembedded_summary
-- Summaries past a mark.
SELECT y.id, y.session_id, s.project_id, y.request, y.learned, y.completed, y.next_steps
FROM session_summaries AS y
CROSS JOIN sdk_sessions AS s ON s.id = y.session_id
WHERE y.id > :after ORDER BY y.id LIMIT :limit;

-- name: unembedded_prompt
-- Prompts past a mark; a private one has no words.
SELECT u.id, u.session_id, s.project_id, SUBSTR(u.prompt, 1, :most) AS prompt
FROM user_prompts AS u
CROSS JOIN sdk_sessions AS s ON s.id = u.session_id
WHERE u.id > :after ORDER BY u.id LIMIT :limit;

-- name: keep_vector
-- Adds or replaces a vector, unless its memory was deleted while it was computed.
INSERT INTO memory_vectors (memory_key, vector)
SELECT :memory_key, :vector
WHERE (:kind = 'observation' AND EXISTS (SELECT 1 FROM observations WHERE id = :id AND session_id = :session_id))
   OR (:kind = 'summary' AND EXISTS (SELECT 1 FROM session_summaries WHERE id = :id AND session_id = :session_id))
   OR (:kind = 'prompt' AND EXISTS (SELECT 1 FROM user_prompts WHERE id = :id AND session_id = :session_id))
ON CONFLICT (memory_key) DO UPDATE SET vector = excluded.vector;

-- name: newest_vectors
-- The last of a span.
SELECT memory_key, vector FROM memory_vectors WHERE memory_key BETWEEN :first AND :last ORDER BY memory_key DESC LIMIT :limit;

-- name: move_vectors
-- Their memories lie elsewhere in the indexes.
UPDATE memory_vectors SET memory_key = memory_key + :by WHERE memory_key BETWEEN :first AND :last;

-- name: all_projects
-- The ids of all projects.
SELECT id FROM projects;
