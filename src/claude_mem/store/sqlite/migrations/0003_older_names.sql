-- The documents' older names, to be read only: what a person types from them still answers.

CREATE VIEW streaming_sessions AS
SELECT id,
       claude_session_id,
       sdk_session_id,
       project,
       title,
       subtitle,
       first_user_prompt AS user_prompt,
       created_at AS started_at,
       created_at_epoch AS started_at_epoch,
       updated_at,
       updated_at_epoch,
       completed_at,
       completed_at_epoch,
       CASE status  -- that document knew three states
           WHEN 'completed' THEN 'completed'
           WHEN 'failed' THEN 'failed'
           WHEN 'interrupted' THEN 'failed'
           ELSE 'active'
       END AS status
FROM sdk_sessions;

CREATE VIEW observation_queue AS
SELECT p.id AS id,
       COALESCE(s.sdk_session_id, s.claude_session_id) AS sdk_session_id,
       CASE p.kind WHEN 'stop' THEN 'FINALIZE' ELSE p.tool_name END AS tool_name,
       COALESCE(p.tool_input, '{}') AS tool_input,
       COALESCE(p.tool_response, '{}') AS tool_output,
       p.created_at_epoch AS created_at_epoch,
       p.settled_at_epoch AS processed_at_epoch
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.kind = 'stop' OR p.tool_name IS NOT NULL;
