-- The statements of sessions.py. `-- name: x` opens one; the next line says what it is for.

-- name: sessions_beginning
-- Sessions by the database's id, or by one of these beginnings of the client's own.
SELECT id, claude_session_id FROM sdk_sessions WHERE id = CAST(:given AS INTEGER) AND CAST(id AS TEXT) = :given
UNION
SELECT s.id, s.claude_session_id FROM json_each(:starts) AS start CROSS JOIN sdk_sessions AS s
ON s.claude_session_id >= start.value AND s.claude_session_id < start.value || X'F48FBFBF'
ORDER BY id DESC;

-- name: injections_after
-- What was injected into sessions after some row, by occasion, and up to which row that is.
SELECT event, COUNT(*) AS times, SUM(tokens) AS tokens, MAX(id) AS upto
FROM injections WHERE id > :after GROUP BY event;

-- name: strike_from_injections
-- Updates records that name deleted memories, so that they name the remaining ones.
UPDATE injections
SET refs = (SELECT json_group_array(r.value) FROM json_each(injections.refs) AS r
            WHERE r.value NOT IN (SELECT value FROM json_each(:gone)))
WHERE id IN (SELECT i.id FROM injections AS i
             WHERE EXISTS (SELECT 1 FROM json_each(i.refs) AS r WHERE r.value IN (SELECT value FROM json_each(:gone)))
             LIMIT :limit);

-- name: strike_from_renderings
-- The same for the contents of files.
UPDATE renderings
SET refs = (SELECT json_group_array(r.value) FROM json_each(renderings.refs) AS r
            WHERE r.value NOT IN (SELECT value FROM json_each(:gone)))
WHERE stamp IN (SELECT i.stamp FROM renderings AS i
                WHERE EXISTS (SELECT 1 FROM json_each(i.refs) AS r WHERE r.value IN (SELECT value FROM json_each(:gone)))
                LIMIT :limit);
