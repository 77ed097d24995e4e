-- The statements of sessions.py. `-- name: x` opens one; the next line says what it is for.

-- name: sessions_beginning
-- Sessions by the database's id, or by one of these beginnings of the client's own.
SELECT id, claude_session_id FROM sdk_sessions WHERE id = CAST(:given AS INTEGER) AND CAST(id AS TEXT) = :given
UNION
SELECT s.id, s.claude_session_id FROM json_each(:starts) AS start CROSS JOIN sdk_sessions AS s
ON s.claude_session_id >= start.value AND s.claude_session_id < start.value || X'F48FBFBF'
ORDER BY id DESC;

-- name: last_summaries
-- The newest summary of each of a project's last sessions, one's own or other members', but for one of them.
-- Open items of untrusted sessions are neither.
-- One with something done, learned or left open goes before a newer one: many sessions end with thanks.
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
)
WHERE place = 1 ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

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
