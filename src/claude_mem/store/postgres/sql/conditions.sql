-- Parts of statements: what narrows and orders the lists of memory_filters.sql and sessions.sql. Each has a name and a purpose.

-- name: where_concepts
-- About one of some concepts.
CAST(m.concepts AS jsonb) ?| ARRAY(SELECT json_array_elements_text(CAST(:concepts AS json)))

-- name: found_word
-- The memories that contain a word, and its positions.
SELECT w.project_id, w.memory_key, w.places FROM memory_words AS w WHERE w.word = :word {within}

-- name: found_beginning
-- The same for all words with a prefix.
SELECT w.project_id, w.memory_key, ARRAY_AGG(p) AS places FROM memory_words AS w, UNNEST(w.places) AS p
WHERE w.word >= :word AND w.word < CAST(:word AS text) || CHR(1114111) {within}
GROUP BY w.project_id, w.memory_key

-- name: found_phrase
-- The same for a phrase: only memories that contain its rarest word are examined.
SELECT project_id, memory_key, ARRAY_AGG(place) AS places FROM (
    SELECT w.project_id, w.memory_key, p - t.number + 1 AS place
    FROM memory_words AS w
    CROSS JOIN json_array_elements_text(CAST(:words AS json)) WITH ORDINALITY AS t (word, number)
    JOIN memory_words AS n ON n.word = t.word COLLATE "C" AND n.project_id = w.project_id AND n.memory_key = w.memory_key
    CROSS JOIN UNNEST(n.places) AS p
    WHERE w.word = :word {within}
    GROUP BY w.project_id, w.memory_key, p - t.number + 1 HAVING COUNT(*) = :many
) AS s
GROUP BY project_id, memory_key

-- name: and_found
-- And another one as well.
SELECT project_id, memory_key, places FROM ({found}) AS one
WHERE memory_key IN (SELECT memory_key FROM ({also}) AS other)

-- name: within_project
-- Rows of one project, which are adjacent.
AND w.project_id = :project_id
