-- The statements of text_matcher.py. `-- name: x` opens one; the next line says what it is for.
-- `{found}` is one of the parts in conditions.sql that find a word, the beginning of words, or a phrase.

-- name: how_often
-- The number of memories that contain something, counted no further than needed.
SELECT COUNT(*) FROM (SELECT 1 FROM ({found}) AS found LIMIT :most) AS counted;

-- name: matches
-- All memories that contain something.
SELECT memory_key FROM ({found}) AS found;

-- name: prose_matches
-- All memories in which it occurs outside of tool input and output.
SELECT memory_key FROM ({found}) AS found WHERE :tool_place > ANY (places);

-- name: weighed_matches
-- All memories that contain something, its positions in them, and their lengths.
SELECT found.memory_key, found.places, d.tokens FROM ({found}) AS found
JOIN memory_documents AS d ON d.project_id = found.project_id AND d.memory_key = found.memory_key;

-- name: matches_among
-- Which of these memories contain something.
SELECT memory_key FROM ({found}) AS found
WHERE memory_key IN (SELECT value FROM json_each(:memory_keys));

-- name: newest_matches
-- The newest memories that contain all of several words.
SELECT memory_key FROM ({found}) AS found ORDER BY project_id DESC, memory_key DESC LIMIT :limit;
