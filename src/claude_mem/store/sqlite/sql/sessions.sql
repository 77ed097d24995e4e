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
