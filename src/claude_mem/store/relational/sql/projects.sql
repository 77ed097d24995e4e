-- The statements of projects.py. `-- name: x` opens one; the next line says what it is for.

-- name: find_project
-- A project by the key that worktrees and clones share, or by one of a project that was merged into it.
SELECT id FROM projects
WHERE id = COALESCE((SELECT project_id FROM project_aliases WHERE key = :key),
                    (SELECT p.id FROM projects AS p WHERE p.key = :key));

-- name: is_alias
-- Whether a key is one of a project that was merged into another.
SELECT 1 FROM project_aliases WHERE key = :key;

-- name: project_by_id
-- A project by the database's id.
SELECT id, key, name, root, named FROM projects WHERE id = :id;

-- name: set_project_root
-- Its directory was moved.
UPDATE projects SET root = :root WHERE id = :id;

-- name: misnamed_sessions
-- Some of a project's sessions that still have its old name.
UPDATE sdk_sessions SET project = :name
WHERE id IN (SELECT id FROM sdk_sessions WHERE project_id = :id AND project <> :name LIMIT :limit);

-- name: misnamed_observations
-- The same for its observations.
UPDATE observations SET project = :name
WHERE id IN (SELECT id FROM observations WHERE project_id = :id AND project <> :name LIMIT :limit);

-- name: move_aliases
-- Aliases of a merged project point to the new one.
UPDATE project_aliases SET project_id = :into WHERE project_id = :gone;

-- name: add_alias
-- From now on, this key belongs to the other project.
INSERT INTO project_aliases (key, project_id) SELECT key, :into FROM projects WHERE id = :gone
ON CONFLICT (key) DO UPDATE SET project_id = excluded.project_id;

-- name: unfinished_merges
-- Projects whose key now belongs to another project.
SELECT p.id AS gone, a.project_id AS into_id FROM project_aliases AS a
JOIN projects AS p ON p.key = a.key AND p.id <> a.project_id ORDER BY p.id;

-- name: session_to_move
-- One of the sessions that still belong to a merged project, or contain an observation of it.
SELECT id FROM sdk_sessions WHERE project_id = :gone
UNION ALL
SELECT session_id FROM observations WHERE project_id = :gone
LIMIT 1;

-- name: rows_to_move
-- All index entries of a session in the project that it is moved from.
SELECT 'observation' AS kind, id FROM observations WHERE session_id = :session_id AND project_id = :gone
UNION ALL
SELECT 'summary', y.id FROM session_summaries AS y
WHERE y.session_id = :session_id AND :gone = (SELECT project_id FROM sdk_sessions WHERE id = :session_id)
UNION ALL
SELECT 'prompt', u.id FROM user_prompts AS u
WHERE u.session_id = :session_id AND :gone = (SELECT project_id FROM sdk_sessions WHERE id = :session_id)
UNION ALL
SELECT 'evidence', e.id FROM pending_messages AS e
WHERE e.session_id = :session_id AND :gone = (SELECT project_id FROM sdk_sessions WHERE id = :session_id);

-- name: move_observations
-- They are another project's.
UPDATE observations SET project_id = :into, project = :name WHERE session_id = :session_id AND project_id = :gone;

-- name: move_summaries
-- They go by another project's name.
UPDATE session_summaries SET project = :name
WHERE session_id = :session_id AND :gone = (SELECT project_id FROM sdk_sessions WHERE id = :session_id);

-- name: move_spending
-- The same of what it cost.
UPDATE spending SET project = :name
WHERE session_id = :session_id AND :gone = (SELECT project_id FROM sdk_sessions WHERE id = :session_id);

-- name: move_session
-- It is another project's.
UPDATE sdk_sessions SET project_id = :into, project = :name WHERE id = :session_id AND project_id = :gone;

-- name: merged_away
-- Only its key is left.
DELETE FROM projects WHERE id = :gone;

-- name: live_project_by_key
-- The same, if it has sessions.
SELECT p.id, p.key, p.name, p.root FROM projects AS p
WHERE p.id = COALESCE((SELECT project_id FROM project_aliases WHERE key = :given),
                      (SELECT o.id FROM projects AS o WHERE o.key = :given))
  AND EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id);

-- name: projects_by_name
-- Projects by their display names: those with a directory, then those that callers only named, then untrusted ones.
SELECT p.id, p.key, p.name, p.root,
       CASE WHEN NOT EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id AND s.client <> 'import') THEN 2
            WHEN p.root = '' THEN 1 ELSE 0 END AS standing
FROM projects AS p
WHERE p.name = :given AND EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id)
ORDER BY standing, p.key;

-- name: misnamed_summaries
-- The same of its summaries.
UPDATE session_summaries SET project = :name
WHERE id IN (SELECT y.id FROM sdk_sessions AS s CROSS JOIN session_summaries AS y ON y.session_id = s.id
             WHERE s.project_id = :id AND y.project <> :name LIMIT :limit);

-- name: misnamed_spending
-- The same of what it cost.
UPDATE spending SET project = :name
WHERE id IN (SELECT c.id FROM sdk_sessions AS s CROSS JOIN spending AS c ON c.session_id = s.id
             WHERE s.project_id = :id AND c.project <> :name LIMIT :limit);

-- name: projects_with_figures
-- All projects that have sessions, most recently used first.
SELECT p.id, p.key, p.name, p.root, COUNT(s.id) AS sessions, MAX(s.updated_at_epoch) AS last_at,
       (SELECT COUNT(*) FROM observations AS o WHERE o.project_id = p.id) AS observations
FROM projects AS p
CROSS JOIN sdk_sessions AS s ON s.project_id = p.id
GROUP BY p.id ORDER BY last_at DESC, p.id LIMIT :limit OFFSET :offset;

-- name: add_project
-- A project seen for the first time.
INSERT INTO projects (key, name, root, remote, created_at, created_at_epoch)
VALUES (:key, :name, :root, :remote, :created_at, :created_at_epoch);

-- name: project_around
-- The project with sessions whose root is the nearest of these directories; above a repository, only other repositories count.
SELECT p.id, p.key, p.name, p.root, p.remote FROM projects AS p
WHERE p.root IN (SELECT value FROM json_each(:roots))
  AND EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id)
  AND (:in_repository = 0 OR p.root = :root OR p.remote IS NOT NULL
       OR EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id AND s.branch IS NOT NULL))
ORDER BY LENGTH(p.root) DESC, p.id LIMIT 1;

-- name: name_project
-- What people see it as. By hand: no directory's name takes its place any more.
UPDATE projects SET name = :name, named = CASE WHEN :by_hand = 1 THEN 1 ELSE named END WHERE id = :id;
