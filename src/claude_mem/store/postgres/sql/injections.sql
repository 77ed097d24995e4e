-- The statements of injections.py. `-- name: x` opens one; the next line says what it is for.

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
