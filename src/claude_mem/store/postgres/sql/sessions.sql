-- The statements of sessions.py. `-- name: x` opens one; the next line says what it is for.

-- name: sessions_beginning
-- Sessions by the database's id, or by one of these beginnings of the client's own.
SELECT id, claude_session_id FROM sdk_sessions WHERE CAST(id AS text) = :given
UNION
SELECT s.id, s.claude_session_id FROM json_array_elements_text(CAST(:starts AS json)) AS start
JOIN sdk_sessions AS s
    ON s.claude_session_id >= start AND s.claude_session_id < start || CHR(1114111)
ORDER BY id DESC;

-- name: last_summaries
-- The newest summary of each of a project's last sessions, one's own or other members', but for one of them.
-- What strangers left open is neither.
-- One that tells of something done, learned or left open goes before a newer one: many a session ends with thanks.
SELECT id FROM (
    SELECT y.id, y.created_at_epoch, ROW_NUMBER() OVER (
        PARTITION BY y.session_id
        ORDER BY COALESCE(y.completed, y.learned, y.next_steps) IS NULL, y.created_at_epoch DESC, y.id DESC
    ) AS place
    FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id
    WHERE s.id IN (SELECT id FROM sdk_sessions WHERE project_id = :project_id AND client <> 'import'
                   AND CASE WHEN author IS NULL THEN 1 ELSE 0 END = :own
                   ORDER BY updated_at_epoch DESC LIMIT :sessions)
      AND s.claude_session_id <> :but_for
) AS y
WHERE place = 1 ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

-- name: add_injection
-- A session was told something; reported twice, it was told once.
INSERT INTO injections (claude_session_id, event, refs, about, tokens, created_at, created_at_epoch)
SELECT :session, :event, :refs, :about, :tokens, :created_at, :created_at_epoch
WHERE NOT EXISTS (SELECT 1 FROM injections
                  WHERE claude_session_id = :session AND created_at_epoch = :created_at_epoch
                    AND event = :event AND about IS NOT DISTINCT FROM :about AND refs = :refs);

-- name: injections_of_session
-- What a session was told (of a memory), the newest first.
SELECT claude_session_id AS session, event, refs, about, tokens, created_at_epoch AS at FROM injections
WHERE claude_session_id = :session AND STRPOS(refs, :named) > 0 ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

-- name: injections_naming
-- What all sessions were told (of a memory), the newest first.
SELECT claude_session_id AS session, event, refs, about, tokens, created_at_epoch AS at FROM injections
WHERE STRPOS(refs, :named) > 0 ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

-- name: strike_from_injections
-- Some of those that name forgotten memories name what is left.
UPDATE injections
SET refs = (SELECT COALESCE(CAST(json_agg(r ORDER BY place) AS text), '[]')
            FROM json_array_elements_text(CAST(injections.refs AS json)) WITH ORDINALITY AS e (r, place)
            WHERE NOT (CAST(:gone AS jsonb) ? r))
WHERE id IN (SELECT i.id FROM injections AS i
             WHERE EXISTS (SELECT 1 FROM json_array_elements_text(CAST(i.refs AS json)) AS r WHERE CAST(:gone AS jsonb) ? r)
             LIMIT :limit);

-- name: strike_from_renderings
-- The same of what files hold.
UPDATE renderings
SET refs = (SELECT COALESCE(CAST(json_agg(r ORDER BY place) AS text), '[]')
            FROM json_array_elements_text(CAST(renderings.refs AS json)) WITH ORDINALITY AS e (r, place)
            WHERE NOT (CAST(:gone AS jsonb) ? r))
WHERE stamp IN (SELECT i.stamp FROM renderings AS i
             WHERE EXISTS (SELECT 1 FROM json_array_elements_text(CAST(i.refs AS json)) AS r WHERE CAST(:gone AS jsonb) ? r)
             LIMIT :limit);
