-- Keeping house: projects that are renamed or merged, traces of memories in copies, and how much all of it takes.
-- Each statement has a name and a purpose.

-- name: projects_to_keep
-- All projects that have sessions, with what a person needs to tell them apart, the one last worked in first.
SELECT p.id, p.key, p.name, p.root, p.remote, p.named, COUNT(s.id) AS sessions, MAX(s.updated_at_epoch) AS last_at,
       (SELECT COUNT(*) FROM observations AS o WHERE o.project_id = p.id AND o.superseded_by IS NULL)
       + (SELECT COUNT(*) FROM observations AS o WHERE o.project_id = p.id AND o.superseded_by IS NOT NULL) AS observations,
       (SELECT c.commit_sha FROM sdk_sessions AS c WHERE c.project_id = p.id AND c.commit_sha IS NOT NULL
        ORDER BY c.updated_at_epoch DESC LIMIT 1) AS last_commit
FROM projects AS p
CROSS JOIN sdk_sessions AS s ON s.project_id = p.id
GROUP BY p.id ORDER BY last_at DESC, p.id;

-- name: project_characters
-- How many characters what was said and done in a project comes to.
SELECT COALESCE((SELECT SUM(e.characters) FROM sdk_sessions AS s
                 CROSS JOIN pending_messages AS e ON e.session_id = s.id WHERE s.project_id = :id), 0)
     + COALESCE((SELECT SUM(LENGTH(COALESCE(o.title, '')) + LENGTH(COALESCE(o.narrative, '')) + LENGTH(o.facts))
                 FROM observations AS o WHERE o.project_id = :id), 0);

-- name: aliases_of
-- The keys of projects that were merged into one.
SELECT key FROM project_aliases WHERE project_id = :id ORDER BY key;

-- name: name_project
-- What people see it as. By hand: no directory's name takes its place any more.
UPDATE projects SET name = :name, named = MAX(named, :by_hand) WHERE id = :id;

-- name: place_project
-- Its directory lies elsewhere now.
UPDATE projects SET root = :root WHERE id = :id;

-- name: misnamed_sessions
-- Some of a project's sessions that go by another name.
UPDATE sdk_sessions SET project = :name
WHERE id IN (SELECT id FROM sdk_sessions WHERE project_id = :id AND project <> :name LIMIT :limit);

-- name: misnamed_observations
-- The same of its observations.
UPDATE observations SET project = :name
WHERE id IN (SELECT id FROM observations WHERE project_id = :id AND project <> :name LIMIT :limit);

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

-- name: move_aliases
-- What was merged into a project goes on with it.
UPDATE project_aliases SET project_id = :into WHERE project_id = :gone;

-- name: add_alias
-- From now on, what has this key is the other project's.
INSERT INTO project_aliases (key, project_id) SELECT key, :into FROM projects WHERE id = :gone
ON CONFLICT (key) DO UPDATE SET project_id = excluded.project_id;

-- name: unfinished_merges
-- Projects whose key is another's by now.
SELECT p.id AS gone, a.project_id AS into_id FROM project_aliases AS a
JOIN projects AS p ON p.key = a.key AND p.id <> a.project_id ORDER BY p.id;

-- name: session_to_move
-- One of the sessions that are still a merged project's, or hold an observation of it.
SELECT id FROM sdk_sessions WHERE project_id = :gone
UNION ALL
SELECT session_id FROM observations WHERE project_id = :gone
LIMIT 1;

-- name: rows_to_move
-- All that lies in the indexes where the project is that a session is moved from.
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

-- name: move_vectors
-- Their memories lie elsewhere in the indexes.
UPDATE memory_vectors SET spot = spot + :by WHERE spot BETWEEN :first AND :last;

-- name: merged_away
-- Nothing is left of it but its key.
DELETE FROM projects WHERE id = :gone;

-- name: traces_of_observations
-- By what observations are known in a copy of the database, where their number may be another's.
SELECT m.id, s.claude_session_id AS session, m.created_at_epoch AS at FROM json_each(:ids) AS j
CROSS JOIN observations AS m ON m.id = j.value CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: traces_of_summaries
-- The same of summaries.
SELECT m.id, s.claude_session_id AS session, m.created_at_epoch AS at FROM json_each(:ids) AS j
CROSS JOIN session_summaries AS m ON m.id = j.value CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: traces_of_prompts
-- The same of prompts.
SELECT m.id, s.claude_session_id AS session, m.created_at_epoch AS at FROM json_each(:ids) AS j
CROSS JOIN user_prompts AS m ON m.id = j.value CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: traces_of_events
-- The same of events.
SELECT m.id, s.claude_session_id AS session, m.created_at_epoch AS at FROM json_each(:ids) AS j
CROSS JOIN pending_messages AS m ON m.id = j.value CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: evidence_between
-- How many characters settled events still say, of a run of them; a prompt's words are kept with the prompt.
SELECT COALESCE(SUM(characters), 0) AS characters, COUNT(*) AS events FROM pending_messages
WHERE id > :after AND id <= :upto AND state = 'done' AND kind <> 'prompt' AND characters > 0;

-- name: oldest_evidence
-- Settled events that still say something, those of the session that was silent for longest first.
SELECT p.id, p.characters, s.updated_at_epoch FROM sdk_sessions AS s
CROSS JOIN pending_messages AS p ON p.session_id = s.id
WHERE s.updated_at_epoch >= :after AND p.state = 'done' AND p.kind <> 'prompt'
  AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL)
ORDER BY s.updated_at_epoch, s.id LIMIT :limit;

-- name: count_expired
-- How many settled events of sessions that ended long ago still say something, and how much.
SELECT COUNT(*) AS events, COALESCE(SUM(p.characters), 0) AS characters FROM sdk_sessions AS s
CROSS JOIN pending_messages AS p ON p.session_id = s.id
WHERE s.updated_at_epoch < :before AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL) AND p.state = 'done';
