-- The statements of injections.py. `-- name: x` opens one; the next line says what it is for.

-- name: injections_after
-- What was injected into sessions after some row, by occasion, and up to which row that is.
SELECT event, COUNT(*) AS times, SUM(tokens) AS tokens, MAX(id) AS upto
FROM injections WHERE id > :after GROUP BY event;

-- name: add_injection
-- Records an injection into a session; reported twice, it counts once.
INSERT INTO injections (claude_session_id, event, refs, about, tokens, created_at, created_at_epoch)
SELECT :session, :event, :refs, :about, :tokens, :created_at, :created_at_epoch
WHERE NOT EXISTS (SELECT 1 FROM injections
                  WHERE claude_session_id = :session AND created_at_epoch = :created_at_epoch
                    AND event = :event AND about IS :about AND refs = :refs);

-- name: injections_of_session
-- What was injected into a session (of a memory), the newest first.
SELECT claude_session_id AS session, event, refs, about, tokens, created_at_epoch AS at FROM injections
WHERE claude_session_id = :session AND INSTR(refs, :named) > 0 ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

-- name: injections_naming
-- What was injected into all sessions (of a memory), the newest first.
SELECT claude_session_id AS session, event, refs, about, tokens, created_at_epoch AS at FROM injections
WHERE INSTR(refs, :named) > 0 ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

-- name: strike_from_injections
-- Some of those that name forgotten memories name what is left.
UPDATE injections
SET refs = (SELECT json_group_array(r.value) FROM json_each(injections.refs) AS r
            WHERE r.value NOT IN (SELECT value FROM json_each(:gone)))
WHERE id IN (SELECT i.id FROM injections AS i
             WHERE EXISTS (SELECT 1 FROM json_each(i.refs) AS r WHERE r.value IN (SELECT value FROM json_each(:gone)))
             LIMIT :limit);

-- name: strike_from_renderings
-- The same of what files hold.
UPDATE renderings
SET refs = (SELECT json_group_array(r.value) FROM json_each(renderings.refs) AS r
            WHERE r.value NOT IN (SELECT value FROM json_each(:gone)))
WHERE stamp IN (SELECT i.stamp FROM renderings AS i
                WHERE EXISTS (SELECT 1 FROM json_each(i.refs) AS r WHERE r.value IN (SELECT value FROM json_each(:gone)))
                LIMIT :limit);
