-- The statements of cards.py. `-- name: x` opens one; the next line says what it is for.

-- name: observation_cards
-- Observations as cards.
SELECT o.id, o.session_id, o.project, o.project_id, o.created_at_epoch, o.prompt_number, o.client, o.branch, o.commit_sha,
       o.type, o.title, o.subtitle, o.narrative, o.text, o.facts, o.concepts, o.files_read, o.files_modified,
       o.provider, o.source, o.pinned, o.wrong, o.supersedes, o.superseded_by, s.claude_session_id, s.author,
       (SELECT COUNT(*) FROM observation_sightings AS g WHERE g.observation_id = o.id) AS seen_again
FROM observations AS o
JOIN sdk_sessions AS s ON s.id = o.session_id
WHERE o.id IN (SELECT value FROM json_each(:ids));

-- name: observation_details
-- Observations with all that is stored of them.
SELECT o.*, s.claude_session_id, s.author,
       (SELECT COUNT(*) FROM observation_sightings AS g WHERE g.observation_id = o.id) AS seen_again
FROM observations AS o
JOIN sdk_sessions AS s ON s.id = o.session_id
WHERE o.id IN (SELECT value FROM json_each(:ids));

-- name: summary_cards
-- Summaries as cards.
SELECT y.*, s.claude_session_id, s.project_id, s.client, s.author, s.branch, s.commit_sha
FROM session_summaries AS y
JOIN sdk_sessions AS s ON s.id = y.session_id
WHERE y.id IN (SELECT value FROM json_each(:ids));

-- name: prompt_cards
-- Prompts as cards.
SELECT u.*, s.claude_session_id, s.project, s.project_id, s.client, s.author, s.branch, s.commit_sha
FROM user_prompts AS u
JOIN sdk_sessions AS s ON s.id = u.session_id
WHERE u.id IN (SELECT value FROM json_each(:ids)) AND u.prompt IS NOT NULL;

-- name: evidence_cards
-- Events as cards, with as much text as a list can show.
SELECT p.id, p.session_id, p.kind, p.prompt_number, p.tool_name, p.cwd, p.branch, p.commit_sha,
       SUBSTR(p.tool_input, 1, 2000) AS tool_input, SUBSTR(p.tool_response, 1, 2000) AS tool_response,
       SUBSTR(p.text, 1, 4000) AS text, p.created_at, p.created_at_epoch,
       s.claude_session_id, s.project, s.project_id, s.client, s.author
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.id IN (SELECT value FROM json_each(:ids)) AND p.private = 0;
