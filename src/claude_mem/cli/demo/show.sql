-- What the demo shows. A person can paste any of it into sqlite3 (see claude-mem demo --keep).

-- name: session
SELECT claude_session_id, project, status, prompt_counter, cwd FROM sdk_sessions ORDER BY id;

-- name: events
SELECT m.prompt_number, m.kind, m.tool_name, m.tool_input, COALESCE(p.prompt, m.text) AS text, m.private, m.state
FROM pending_messages AS m
LEFT JOIN user_prompts AS p
    ON p.session_id = m.session_id AND p.prompt_number = m.prompt_number AND m.kind = 'prompt'
ORDER BY m.id;

-- name: observations
SELECT type, title, subtitle, files_modified, files_read, provider FROM observations ORDER BY id;

-- name: indexed
-- Texts whose words are in the full-text index, one after the other; the index keeps words, not texts.
SELECT COUNT(*) FROM memory_text WHERE memory_text MATCH :phrase;

-- name: summaries
SELECT prompt_number, request, investigated, learned, completed, next_steps, notes
FROM session_summaries ORDER BY id;
