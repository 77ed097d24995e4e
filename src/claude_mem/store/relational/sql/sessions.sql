-- The statements of sessions.py. `-- name: x` opens one; the next line says what it is for.

-- name: session_by_id
-- A session by the database's id.
SELECT s.*, (SELECT COUNT(*) FROM pending_messages AS p WHERE p.session_id = s.id AND p.state <> 'done') AS pending
FROM sdk_sessions AS s WHERE s.id = :session;

-- name: session_by_client_id
-- A session by the client's own id.
SELECT s.*, (SELECT COUNT(*) FROM pending_messages AS p WHERE p.session_id = s.id AND p.state <> 'done') AS pending
FROM sdk_sessions AS s WHERE s.claude_session_id = :session;

-- name: fail_session
-- Marks a session as aborted.
UPDATE sdk_sessions SET status = 'failed' WHERE id = :session_id;

-- name: interrupt_sessions
-- Open sessions in which nothing happened for too long.
UPDATE sdk_sessions SET status = 'interrupted'
WHERE status IN ('initialized', 'active', 'summarizing') AND updated_at_epoch < :before;

-- name: count_open_sessions
-- Sessions that may still be running.
SELECT COUNT(*) FROM sdk_sessions WHERE status IN ('initialized', 'active', 'summarizing');

-- name: last_open_sessions
-- Those in which something last happened.
SELECT claude_session_id FROM sdk_sessions WHERE status IN ('initialized', 'active', 'summarizing')
ORDER BY updated_at_epoch DESC, id DESC LIMIT :limit;

-- name: count_sessions
-- How many such a list has.
SELECT COUNT(*) FROM sdk_sessions AS m;

-- name: list_session
-- Sessions, to be narrowed by the conditions and ordered by when something last happened.
SELECT m.id FROM sdk_sessions AS m;

-- name: session_named
-- A session by the client's own id.
SELECT id, claude_session_id FROM sdk_sessions WHERE claude_session_id = :given;

-- name: session_before
-- The project's session before another one.
SELECT p.id FROM sdk_sessions AS s
JOIN sdk_sessions AS p ON p.project_id = s.project_id AND (p.created_at_epoch, p.id) < (s.created_at_epoch, s.id)
WHERE s.id = :id ORDER BY p.created_at_epoch DESC, p.id DESC LIMIT 1;

-- name: session_after
-- The project's session after another one.
SELECT n.id FROM sdk_sessions AS s
JOIN sdk_sessions AS n ON n.project_id = s.project_id AND (n.created_at_epoch, n.id) > (s.created_at_epoch, s.id)
WHERE s.id = :id ORDER BY n.created_at_epoch, n.id LIMIT 1;

-- name: project_figures
-- How much is stored about a project.
SELECT (SELECT COUNT(*) FROM sdk_sessions AS s WHERE s.project_id = :project_id
        AND (s.prompt_counter > 0 OR EXISTS (SELECT 1 FROM observations WHERE session_id = s.id))) AS sessions,
       (SELECT COUNT(*) FROM observations WHERE project_id = :project_id) AS observations;

-- name: working_directories
-- Where a project's last sessions worked.
SELECT cwd FROM sdk_sessions WHERE project_id = :project_id AND cwd IS NOT NULL
GROUP BY cwd ORDER BY MAX(updated_at_epoch) DESC LIMIT :limit;

-- name: project_clients
-- The agents and other programs by which a project was worked on.
SELECT DISTINCT client FROM sdk_sessions WHERE project_id = :project_id;

-- name: all_clients
-- The same, of any project.
SELECT DISTINCT client FROM sdk_sessions;

-- name: authors
-- The members of the team whose sessions are here.
SELECT DISTINCT author FROM sdk_sessions WHERE author IS NOT NULL ORDER BY author;

-- name: project_authors
-- The same, of one project.
SELECT DISTINCT author FROM sdk_sessions WHERE project_id = :project_id AND author IS NOT NULL ORDER BY author;

-- name: last_session
-- The newest session's id.
SELECT COALESCE(MAX(id), 0) FROM sdk_sessions;

-- name: last_compaction
-- When a session was last compacted.
SELECT MAX(p.created_at_epoch) FROM pending_messages AS p
WHERE p.session_id = (SELECT id FROM sdk_sessions WHERE claude_session_id = :session)
  AND p.kind IN ('pre_compact', 'post_compact');

-- name: sessions_shown
-- Sessions with what is in them.
SELECT s.id, s.claude_session_id, s.project, s.project_id, s.title, s.subtitle, s.status, s.client, s.author, s.branch,
       s.cwd, s.first_user_prompt, s.prompt_counter, s.created_at, s.created_at_epoch, s.updated_at,
       s.updated_at_epoch, s.completed_at,
       (SELECT COUNT(*) FROM observations AS o WHERE o.session_id = s.id) AS observations,
       (SELECT COUNT(*) FROM session_summaries AS y WHERE y.session_id = s.id) AS summaries
FROM sdk_sessions AS s
WHERE s.id IN (SELECT value FROM json_each(:ids)) ORDER BY s.updated_at_epoch DESC, s.id DESC;

-- name: session_titles
-- When sessions began and what they are about, without counting what is in them.
SELECT claude_session_id, project, author, title, first_user_prompt, created_at, created_at_epoch FROM sdk_sessions
WHERE id IN (SELECT value FROM json_each(:ids));

-- name: add_rendering
-- Records the content of a file in context/.
INSERT INTO renderings (stamp, refs, tokens, created_at_epoch) VALUES (:stamp, :refs, :tokens, :created_at_epoch)
ON CONFLICT (stamp) DO UPDATE
    SET refs = excluded.refs, tokens = excluded.tokens, created_at_epoch = excluded.created_at_epoch;

-- name: prune_renderings
-- Files of long ago are gone.
DELETE FROM renderings
WHERE stamp NOT IN (SELECT stamp FROM renderings ORDER BY created_at_epoch DESC, stamp DESC LIMIT :keep);

-- name: rendering
-- The content of one file.
SELECT refs, tokens FROM renderings WHERE stamp = :stamp;

-- name: last_summaries
-- The newest summary of each of a project's last sessions, the user's own or other members', except one session.
-- Open items of untrusted sessions are excluded.
-- A summary with results, findings or open items takes precedence over a newer one, because many sessions end with thanks.
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
) AS placed
WHERE place = 1 ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

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
