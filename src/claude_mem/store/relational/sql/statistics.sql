-- The statements of statistics.py. `-- name: x` opens one; the next line says what it is for.

-- name: last_observation_at
-- When the newest thing that is remembered was done.
SELECT MAX(created_at_epoch) FROM observations;

-- name: tally_injections
-- What was injected into sessions since some time, by occasion.
SELECT event, COUNT(*) AS times, SUM(tokens) AS tokens
FROM injections WHERE created_at_epoch >= :since
GROUP BY event ORDER BY event;

-- name: memory_figures
-- How much is stored in total.
SELECT (SELECT COUNT(*) FROM projects AS p WHERE EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id)) AS projects,
       (SELECT COUNT(*) FROM sdk_sessions) AS sessions,
       (SELECT COUNT(*) FROM user_prompts) AS prompts, (SELECT COUNT(*) FROM observations) AS observations,
       (SELECT COUNT(*) FROM session_summaries) AS summaries;

-- name: injection_figures
-- How often and how much was injected into sessions, by hook event.
SELECT event, COUNT(*) AS times, SUM(tokens) AS tokens FROM injections GROUP BY event ORDER BY event;

-- name: branches_of
-- The branches on which work was done, latest first.
SELECT branch FROM sdk_sessions
WHERE branch IS NOT NULL AND (:project_id IS NULL OR project_id = :project_id)
GROUP BY branch ORDER BY MAX(updated_at_epoch) DESC LIMIT :limit;

-- name: clients_of
-- By which agents.
SELECT client FROM sdk_sessions WHERE :project_id IS NULL OR project_id = :project_id
GROUP BY client ORDER BY COUNT(*) DESC LIMIT :limit;

-- name: authors_of
-- The other members of the team whose memories are here.
SELECT author FROM sdk_sessions WHERE author IS NOT NULL AND (:project_id IS NULL OR project_id = :project_id)
GROUP BY author ORDER BY author LIMIT :limit;

-- name: superseded_by_it
-- The observations that one supersedes.
SELECT id FROM observations WHERE superseded_by = :id ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

-- name: prompt_of
-- The prompt by its number.
SELECT id FROM user_prompts WHERE session_id = :session_id AND prompt_number = :prompt_number;

-- name: injected_by_day
-- What was injected into sessions each day (UTC), by occasion.
SELECT SUBSTR(i.created_at, 1, 10) AS day, i.event, COUNT(*) AS times, SUM(i.tokens) AS tokens
FROM injections AS i LEFT JOIN sdk_sessions AS s ON s.claude_session_id = i.claude_session_id
WHERE i.created_at_epoch >= :since AND (:project IS NULL OR s.project = :project)
GROUP BY day, i.event ORDER BY day, i.event;

-- name: observed_tool_uses
-- How many tool uses were sent to a model: those of sessions that had costs since then.
SELECT COUNT(*) FROM pending_messages AS p
WHERE p.session_id IN (SELECT session_id FROM spending
                       WHERE created_at_epoch >= :since AND (:project IS NULL OR project = :project))
  AND p.settled_at_epoch >= :since AND p.tool_name IS NOT NULL AND p.state = 'done';

-- name: tally
-- What came in since some time; only of sessions that are older than it is each event's long row looked at.
SELECT (SELECT COUNT(*) FROM sdk_sessions WHERE updated_at_epoch >= :since) AS sessions,
       (SELECT COUNT(*) FROM sdk_sessions AS s CROSS JOIN user_prompts AS u ON u.session_id = s.id
        WHERE s.updated_at_epoch >= :since AND u.created_at_epoch >= :since) AS prompts,
       (SELECT COUNT(*) FROM sdk_sessions AS s CROSS JOIN pending_messages AS p ON p.session_id = s.id
        WHERE s.updated_at_epoch >= :since AND (s.created_at_epoch >= :since OR p.created_at_epoch >= :since)) AS events,
       (SELECT COUNT(*) FROM sdk_sessions AS s CROSS JOIN observation_sightings AS o ON o.session_id = s.id
        WHERE s.updated_at_epoch >= :since AND o.created_at_epoch >= :since) AS seen_again,
       (SELECT COUNT(*) FROM sdk_sessions AS s CROSS JOIN session_summaries AS y ON y.session_id = s.id
        WHERE s.updated_at_epoch >= :since AND y.created_at_epoch >= :since) AS summaries;

-- name: tally_observations
-- Observations since a given time, by type and author.
SELECT type, COALESCE(provider, 'unknown') AS provider, COUNT(*) AS observations
FROM observations WHERE created_at_epoch >= :since
GROUP BY +type, provider;

-- name: types_of_project
-- How many observations of each type a project has.
SELECT type, COUNT(*) AS times FROM observations
WHERE type IN (SELECT value FROM json_each(:types)) AND project_id = :project_id GROUP BY type ORDER BY times DESC, type;

-- name: project_names
-- What projects that have sessions are called, the one last worked in first.
SELECT p.name FROM projects AS p CROSS JOIN sdk_sessions AS s ON s.project_id = p.id
GROUP BY p.name ORDER BY MAX(s.updated_at_epoch) DESC, p.name LIMIT :limit;

-- name: events_of_tools
-- The events an observation was made of.
SELECT id FROM pending_messages
WHERE session_id = :session_id AND tool_use_id IN (SELECT value FROM json_each(:tool_use_ids))
ORDER BY id LIMIT :limit;

-- name: times_injected
-- How often a memory was injected into sessions.
SELECT COUNT(*) FROM injections WHERE INSTR(refs, :named) > 0;
