-- The statements of vector_index.py. `-- name: x` opens one; the next line says what it is for.

-- name: unembedded_observation
-- Observations without a vector, with the words that tell what they are about.
SELECT n.id, o.session_id, o.project_id, o.title, o.subtitle, SUBSTR(COALESCE(o.narrative, o.text), 1, :most) AS words, o.facts,
       n.stamp
FROM unembedded AS n LEFT JOIN observations AS o ON o.id = n.id WHERE n.kind = 'observation' ORDER BY n.id LIMIT :limit;

-- name: unembedded_summary
-- Summaries without a vector.
SELECT n.id, y.session_id, s.project_id, y.request, y.learned, y.completed, y.next_steps, n.stamp
FROM unembedded AS n LEFT JOIN session_summaries AS y ON y.id = n.id LEFT JOIN sdk_sessions AS s ON s.id = y.session_id
WHERE n.kind = 'summary' ORDER BY n.id LIMIT :limit;

-- name: unembedded_prompt
-- Prompts without a vector; a private one has no words.
SELECT n.id, u.session_id, s.project_id, SUBSTR(u.prompt, 1, :most) AS prompt, n.stamp
FROM unembedded AS n LEFT JOIN user_prompts AS u ON u.id = n.id LEFT JOIN sdk_sessions AS s ON s.id = u.session_id
WHERE n.kind = 'prompt' ORDER BY n.id LIMIT :limit;

-- name: settle_unembedded
-- It has a vector, unless its words were changed meanwhile.
DELETE FROM unembedded WHERE kind = :kind AND id = :id AND stamp = :stamp;

-- name: embed_again
-- A memory's vector is to be made again.
INSERT INTO unembedded (kind, id) VALUES (:kind, :id)
ON CONFLICT (kind, id) DO UPDATE SET stamp = nextval('stamps');

-- name: embed_all
-- All vectors are to be made again.
INSERT INTO unembedded (kind, id)
SELECT 'observation', id FROM observations UNION ALL SELECT 'summary', id FROM session_summaries
UNION ALL SELECT 'prompt', id FROM user_prompts
ON CONFLICT (kind, id) DO UPDATE SET stamp = nextval('stamps');

-- name: count_unembedded
-- How many memories have no vector.
SELECT COUNT(*) FROM unembedded;

-- name: keep_vector
-- Add or replace one, unless its memory was forgotten while it was made.
INSERT INTO memory_vectors (memory_key, vector)
SELECT :memory_key, :vector
WHERE (:kind = 'observation' AND EXISTS (SELECT 1 FROM observations WHERE id = :id AND session_id = :session_id))
   OR (:kind = 'summary' AND EXISTS (SELECT 1 FROM session_summaries WHERE id = :id AND session_id = :session_id))
   OR (:kind = 'prompt' AND EXISTS (SELECT 1 FROM user_prompts WHERE id = :id AND session_id = :session_id))
ON CONFLICT (memory_key) DO UPDATE SET vector = excluded.vector, transaction = excluded.transaction;

-- name: vectors_changed
-- Those that any process has stored since a mark.
SELECT memory_key, vector FROM memory_vectors WHERE transaction >= CAST(CAST(:mark AS text) AS xid8) LIMIT :limit;

-- name: vectors_used_elsewhere
-- Whether another machine has used the vectors within a day.
SELECT machine FROM vector_users WHERE machine <> :machine AND seen_at > now() - INTERVAL '1 day' LIMIT 1;

-- name: note_vectors_used
-- This machine uses them; written once an hour.
INSERT INTO vector_users AS u (machine) VALUES (:machine)
ON CONFLICT (machine) DO UPDATE SET seen_at = now() WHERE u.seen_at < now() - INTERVAL '1 hour';
