-- Parts of statements: what narrows and orders the lists of memory_filters.sql and sessions.sql. Each has a name and a purpose.

-- name: where_besides
-- Of one project, where something else says more: not to be looked for by the project.
m.project_id = :project_id

-- name: where_concepts
-- About one of some concepts.
CAST(m.concepts AS jsonb) ?| ARRAY(SELECT json_array_elements_text(CAST(:concepts AS json)))

-- name: where_own_client
-- Likewise, of a list that goes without its sessions; by time all the same.
m.session_id IN (SELECT id FROM sdk_sessions WHERE client = :client)

-- name: where_own_author
-- Likewise, by members of the team; '' is oneself.
m.session_id IN (
    SELECT id FROM sdk_sessions WHERE COALESCE(author, '') IN (SELECT value FROM json_each(:authors))
)

-- name: found_word
-- The memories that have a word, and where it stands in them.
SELECT memory_key, places FROM memory_words WHERE word = :word AND memory_key BETWEEN :first AND :last

-- name: found_beginning
-- The same of all words with a beginning.
SELECT w.memory_key, ARRAY_AGG(p) AS places FROM memory_words AS w, UNNEST(w.places) AS p
WHERE w.word >= :word AND w.word < CAST(:word AS text) || CHR(1114111) AND w.memory_key BETWEEN :first AND :last
GROUP BY w.memory_key

-- name: found_phrase
-- The same of words that follow each other: only memories with the rarest of them are looked at.
SELECT memory_key, ARRAY_AGG(place) AS places FROM (
    SELECT w.memory_key, p - t.number + 1 AS place
    FROM memory_words AS rare
    CROSS JOIN json_array_elements_text(CAST(:words AS json)) WITH ORDINALITY AS t (word, number)
    JOIN memory_words AS w ON w.word = t.word COLLATE "C" AND w.memory_key = rare.memory_key
    CROSS JOIN UNNEST(w.places) AS p
    WHERE rare.word = :word AND rare.memory_key BETWEEN :first AND :last
    GROUP BY w.memory_key, p - t.number + 1 HAVING COUNT(*) = :many
) AS s
GROUP BY memory_key

-- name: and_found
-- And another one as well.
SELECT memory_key, places FROM ({found}) AS one WHERE memory_key IN (SELECT memory_key FROM ({also}) AS other)
