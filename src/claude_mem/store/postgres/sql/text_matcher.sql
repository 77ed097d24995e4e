-- The statements of text_matcher.py. `-- name: x` opens one; the next line says what it is for.
-- `{found}` is one of the parts in conditions.sql that find a word, the beginning of words, or a phrase.

-- name: how_often
-- In how many memories something is found, counted no further than needed.
SELECT COUNT(*) FROM (SELECT 1 FROM ({found}) AS found LIMIT :most) AS counted;

-- name: matches
-- All memories in which something is found.
SELECT memory_key FROM ({found}) AS found;

-- name: prose_matches
-- All in which it is found in what was said and understood, not only in what a tool was given or printed.
SELECT memory_key FROM ({found}) AS found WHERE :tool_place > ANY (places);

-- name: weighed_matches
-- All in which something is found, where it stands in them, and how long they are.
SELECT found.memory_key, found.places, d.tokens FROM ({found}) AS found
JOIN memory_documents AS d ON d.project_id = found.project_id AND d.memory_key = found.memory_key;

-- name: matches_among
-- Of some memories, those in which something is found.
SELECT memory_key FROM ({found}) AS found
WHERE memory_key IN (SELECT value FROM json_each(:memory_keys));

-- name: newest_matches
-- The newest in which all of several are found.
SELECT memory_key FROM ({found}) AS found ORDER BY project_id DESC, memory_key DESC LIMIT :limit;
