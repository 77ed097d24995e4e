-- The statements of sessions.py. `-- name: x` opens one; the next line says what it is for.

-- name: sessions_beginning
-- Sessions by the database's id, or by one of these beginnings of the client's own.
SELECT id, claude_session_id FROM sdk_sessions WHERE CAST(id AS text) = :given
UNION
SELECT s.id, s.claude_session_id FROM json_array_elements_text(CAST(:starts AS json)) AS start
JOIN sdk_sessions AS s
    ON s.claude_session_id >= start AND s.claude_session_id < start || CHR(1114111)
ORDER BY id DESC;

-- name: strike_from_injections
-- Updates records that name deleted memories, so that they name the remaining ones.
UPDATE injections
SET refs = (SELECT COALESCE(CAST(json_agg(r ORDER BY place) AS text), '[]')
            FROM json_array_elements_text(CAST(injections.refs AS json)) WITH ORDINALITY AS e (r, place)
            WHERE NOT (CAST(:gone AS jsonb) ? r))
WHERE id IN (SELECT i.id FROM injections AS i
             WHERE EXISTS (SELECT 1 FROM json_array_elements_text(CAST(i.refs AS json)) AS r WHERE CAST(:gone AS jsonb) ? r)
             LIMIT :limit);

-- name: strike_from_renderings
-- The same for the contents of files.
UPDATE renderings
SET refs = (SELECT COALESCE(CAST(json_agg(r ORDER BY place) AS text), '[]')
            FROM json_array_elements_text(CAST(renderings.refs AS json)) WITH ORDINALITY AS e (r, place)
            WHERE NOT (CAST(:gone AS jsonb) ? r))
WHERE stamp IN (SELECT i.stamp FROM renderings AS i
             WHERE EXISTS (SELECT 1 FROM json_array_elements_text(CAST(i.refs AS json)) AS r WHERE CAST(:gone AS jsonb) ? r)
             LIMIT :limit);
