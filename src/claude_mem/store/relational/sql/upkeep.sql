-- The statements of upkeep.py. `-- name: x` opens one; the next line says what it is for.

-- name: evidence_between
-- How many characters of text a range of settled events still has; a prompt's text is stored with the prompt.
SELECT COALESCE(SUM(characters), 0) AS characters, COUNT(*) AS events FROM pending_messages
WHERE id > :after AND id <= :upto AND state = 'done' AND kind <> 'prompt' AND characters > 0;

-- name: oldest_evidence
-- Settled events that still have text, starting with the session that has been inactive for the longest time.
SELECT p.id, p.characters, s.updated_at_epoch FROM sdk_sessions AS s
CROSS JOIN pending_messages AS p ON p.session_id = s.id
WHERE s.updated_at_epoch >= :after AND p.state = 'done' AND p.kind <> 'prompt'
  AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL)
ORDER BY s.updated_at_epoch, s.id LIMIT :limit;

-- name: count_expired
-- How many settled events of sessions that ended long ago still have text, and how much.
SELECT COUNT(*) AS events, COALESCE(SUM(p.characters), 0) AS characters FROM sdk_sessions AS s
CROSS JOIN pending_messages AS p ON p.session_id = s.id
WHERE s.updated_at_epoch < :before AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL) AND p.state = 'done';
