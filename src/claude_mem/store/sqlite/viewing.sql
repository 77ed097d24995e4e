-- What the viewer's pages show beside memories: figures by day, by file, by type. Each has a name and a purpose.

-- name: activity_of_observations
-- How much was learnt in a project on each day, as the days are where the user is.
SELECT DATE(o.created_at_epoch / 1000, 'unixepoch', 'localtime') AS day, COUNT(*) AS times
FROM observations AS o WHERE o.project_id = :project_id AND o.created_at_epoch >= :since GROUP BY day;

-- name: activity_of_prompts
-- How much was asked.
SELECT DATE(u.created_at_epoch / 1000, 'unixepoch', 'localtime') AS day, COUNT(*) AS times
FROM sdk_sessions AS s JOIN user_prompts AS u ON u.session_id = s.id
WHERE s.project_id = :project_id AND u.created_at_epoch >= :since GROUP BY day;

-- name: activity_of_summaries
-- How many turns were summed up.
SELECT DATE(y.created_at_epoch / 1000, 'unixepoch', 'localtime') AS day, COUNT(*) AS times
FROM sdk_sessions AS s JOIN session_summaries AS y ON y.session_id = s.id
WHERE s.project_id = :project_id AND y.created_at_epoch >= :since GROUP BY day;

-- name: types_of_project
-- How much of each type a project knows.
SELECT type, COUNT(*) AS times FROM observations
WHERE type IN (SELECT value FROM json_each(:types)) AND project_id = :project_id GROUP BY type ORDER BY times DESC, type;

-- name: changed_files
-- The files most memories say were changed: of a project's last so many memories of files.
SELECT path, COUNT(*) AS changes, MAX(spot) AS spot
FROM (SELECT path, spot, how FROM memory_files INDEXED BY memory_files_by_spot
      WHERE spot BETWEEN :first AND :last ORDER BY spot DESC LIMIT :most)
WHERE how = 'modified' AND (spot >> 25) & 3 = 0
GROUP BY path ORDER BY changes DESC, spot DESC LIMIT :limit;

-- name: project_names
-- What projects that have sessions are called, the one last worked in first.
SELECT p.name FROM projects AS p CROSS JOIN sdk_sessions AS s ON s.project_id = p.id
GROUP BY p.name ORDER BY MAX(s.updated_at_epoch) DESC, p.name LIMIT :limit;

-- name: branches_of
-- On which branches work was done, the last one first.
SELECT branch FROM sdk_sessions
WHERE branch IS NOT NULL AND (:project_id IS NULL OR project_id = :project_id)
GROUP BY branch ORDER BY MAX(updated_at_epoch) DESC LIMIT :limit;

-- name: clients_of
-- By which agents.
SELECT client FROM sdk_sessions WHERE :project_id IS NULL OR project_id = :project_id
GROUP BY client ORDER BY COUNT(*) DESC LIMIT :limit;

-- name: concepts_of_project
-- Of what its newest memories are examples, the most frequent first.
SELECT j.value AS concept FROM (SELECT concepts FROM observations WHERE project_id = :project_id
                                ORDER BY created_at_epoch DESC LIMIT :most) AS o, json_each(o.concepts) AS j
GROUP BY concept ORDER BY COUNT(*) DESC, concept LIMIT :limit;

-- name: concepts_of_all
-- The same, of all.
SELECT j.value AS concept FROM (SELECT concepts FROM observations
                                ORDER BY created_at_epoch DESC LIMIT :most) AS o, json_each(o.concepts) AS j
GROUP BY concept ORDER BY COUNT(*) DESC, concept LIMIT :limit;

-- name: events_of_tools
-- The events an observation was made of.
SELECT id FROM pending_messages
WHERE session_id = :session_id AND tool_use_id IN (SELECT value FROM json_each(:tool_use_ids))
ORDER BY id LIMIT :limit;

-- name: superseded_by_it
-- Which observations one stands in the place of.
SELECT id FROM observations WHERE superseded_by = :id ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

-- name: prompt_of
-- The prompt by its number.
SELECT id FROM user_prompts WHERE session_id = :session_id AND prompt_number = :prompt_number;

-- name: times_injected
-- How often sessions were told of a memory.
SELECT COUNT(*) FROM injections WHERE INSTR(refs, :named) > 0;

-- name: injected_by_day
-- What sessions were told each day of UTC, by occasion.
SELECT SUBSTR(i.created_at, 1, 10) AS day, i.event, COUNT(*) AS times, SUM(i.tokens) AS tokens
FROM injections AS i LEFT JOIN sdk_sessions AS s ON s.claude_session_id = i.claude_session_id
WHERE i.created_at_epoch >= :since AND (:project IS NULL OR s.project = :project)
GROUP BY day, i.event ORDER BY day, i.event;

-- name: uses_asked_about
-- How many tool uses a model was asked about: those of the sessions that cost something since.
SELECT COUNT(*) FROM pending_messages AS p
WHERE p.session_id IN (SELECT session_id FROM spending
                       WHERE created_at_epoch >= :since AND (:project IS NULL OR project = :project))
  AND p.settled_at_epoch >= :since AND p.tool_name IS NOT NULL AND p.state = 'done';
