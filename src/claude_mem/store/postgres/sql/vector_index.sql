-- The statements of vector_index.py. `-- name: x` opens one; the next line says what it is for.

-- name: unembedded_observation
-- Observations without a vector, with the text to embed.
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
-- Records that it has a vector, unless its text was changed in the meantime.
DELETE FROM unembedded WHERE kind = :kind AND id = :id AND stamp = :stamp;

-- name: embed_again
-- A memory's vector must be computed again.
INSERT INTO unembedded (kind, id) VALUES (:kind, :id)
ON CONFLICT (kind, id) DO UPDATE SET stamp = nextval('stamps');

-- name: embed_all
-- Queues all vectors to be computed again.
INSERT INTO unembedded (kind, id)
SELECT 'observation', id FROM observations UNION ALL SELECT 'summary', id FROM session_summaries
UNION ALL SELECT 'prompt', id FROM user_prompts
ON CONFLICT (kind, id) DO UPDATE SET stamp = nextval('stamps');

-- name: count_unembedded
-- How many memories have no vector.
SELECT COUNT(*) FROM unembedded;

-- name: hold_{kind}
-- Locks these memories against moves and deletions until this transaction ends.
SELECT id FROM {table} WHERE id IN (SELECT value FROM json_each(:ids)) ORDER BY id FOR KEY SHARE;

-- name: keep_vector_observation
-- Adds or replaces an observation's vector, unless the observation was deleted while it was computed.
INSERT INTO memory_vectors (memory_key, project_id, vector)
SELECT :memory_key, project_id, :vector FROM observations
WHERE id = :id AND session_id = :session_id AND project_id IS NOT NULL
ON CONFLICT (memory_key) DO UPDATE
    SET project_id = excluded.project_id, vector = excluded.vector, stored_by = excluded.stored_by
RETURNING project_id;

-- name: keep_vector_summary
-- The same of a summary.
INSERT INTO memory_vectors (memory_key, project_id, vector)
SELECT :memory_key, s.project_id, :vector FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id
WHERE y.id = :id AND y.session_id = :session_id
ON CONFLICT (memory_key) DO UPDATE
    SET project_id = excluded.project_id, vector = excluded.vector, stored_by = excluded.stored_by
RETURNING project_id;

-- name: keep_vector_prompt
-- The same of a prompt.
INSERT INTO memory_vectors (memory_key, project_id, vector)
SELECT :memory_key, s.project_id, :vector FROM user_prompts AS u JOIN sdk_sessions AS s ON s.id = u.session_id
WHERE u.id = :id AND u.session_id = :session_id
ON CONFLICT (memory_key) DO UPDATE
    SET project_id = excluded.project_id, vector = excluded.vector, stored_by = excluded.stored_by
RETURNING project_id;

-- name: projects_of_observation
-- Whose memory observations are.
SELECT id, project_id FROM observations WHERE id IN (SELECT value FROM json_each(:ids)) AND project_id IS NOT NULL;

-- name: projects_of_summary
-- The same of summaries.
SELECT y.id, s.project_id FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id
WHERE y.id IN (SELECT value FROM json_each(:ids));

-- name: projects_of_prompt
-- The same of prompts.
SELECT u.id, s.project_id FROM user_prompts AS u JOIN sdk_sessions AS s ON s.id = u.session_id
WHERE u.id IN (SELECT value FROM json_each(:ids));

-- name: newest_vectors
-- Those of the last sessions.
SELECT memory_key, vector FROM memory_vectors ORDER BY memory_key DESC LIMIT :limit;

-- name: newest_vectors_of_project
-- The same of a project.
SELECT memory_key, vector FROM memory_vectors WHERE project_id = :project_id ORDER BY memory_key DESC LIMIT :limit;

-- name: move_vector
-- Its memory was moved to another session or project.
UPDATE memory_vectors SET memory_key = :new, project_id = :project_id, stored_by = pg_current_xact_id()
WHERE memory_key = :old;

-- name: vectors_changed
-- Those that any process has stored since a mark.
SELECT project_id, memory_key, vector FROM memory_vectors
WHERE stored_by >= CAST(CAST(:mark AS text) AS xid8) LIMIT :limit;

-- name: vectors_used_elsewhere
-- Whether another machine has used the vectors within a day.
SELECT machine FROM vector_users WHERE machine <> :machine AND seen_at > now() - INTERVAL '1 day' LIMIT 1;

-- name: note_vectors_used
-- This machine uses them; written once an hour.
INSERT INTO vector_users AS u (machine) VALUES (:machine)
ON CONFLICT (machine) DO UPDATE SET seen_at = now() WHERE u.seen_at < now() - INTERVAL '1 hour';

-- name: pgvector_found
-- What of the extension `vector` there is, and of ours that needs it.
SELECT a.default_version AS available, e.extversion AS installed, CAST(CAST(e.extnamespace AS regnamespace) AS text) AS schema,
       CASE WHEN has_schema_privilege(e.extnamespace, 'USAGE')
            THEN to_regtype(CAST(CAST(e.extnamespace AS regnamespace) AS text) || '.halfvec') IS NOT NULL END AS has_type,
       to_regproc('half_distance') IS NOT NULL
           AND EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = to_regclass('memory_vectors') AND tgname = 'vector_changed') AS is_made,
       to_regclass('memory_halfvecs') IS NOT NULL OR to_regproc('vector_changed') IS NOT NULL AS is_begun,
       (SELECT value FROM derived WHERE name = 'halfvecs') AS copied
FROM (SELECT 'vector' AS name) AS v LEFT JOIN pg_available_extensions AS a USING (name)
LEFT JOIN pg_extension AS e ON e.extname = v.name;

-- name: may_create_pgvector
-- Whether we are allowed to create it, as far as roles tell.
SELECT (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
       OR EXISTS (SELECT 1 FROM pg_available_extension_versions
                  WHERE name = 'vector' AND (trusted OR NOT superuser) AND has_database_privilege(current_database(), 'CREATE'));

-- name: halfvecs_ready
-- Whether all vectors can be compared here.
SELECT 1 FROM derived WHERE name = 'halfvecs' AND value = 'all' AND to_regproc('half_distance') IS NOT NULL;

-- name: nearest_halfvecs
-- The closest of a project, or of all that whoever asks may read, as they are stored: their numbers are not rounded.
-- `OFFSET 0`: each is looked up. The planner expects that rules hide half of a table, and would read all of it.
SELECT n.memory_key, v.vector
FROM (SELECT h.memory_key FROM memory_halfvecs AS h
      WHERE :project_id IS NULL OR h.project_id = :project_id
      ORDER BY half_distance(h.half, half_of_text(:query)), h.memory_key DESC LIMIT :limit) AS n
CROSS JOIN LATERAL (SELECT vector FROM memory_vectors WHERE memory_key = n.memory_key OFFSET 0) AS v;

-- name: copy_halfvecs
-- Some vectors that were stored before the trigger was there, behind a key. Locked, so that none comes back that is
-- being forgotten; where to go on is asked without a lock, for what is being moved would answer with its new key.
WITH page AS MATERIALIZED (
    SELECT memory_key FROM memory_vectors WHERE memory_key > :after ORDER BY memory_key LIMIT :limit
), picked AS MATERIALIZED (
    SELECT project_id, memory_key, vector FROM memory_vectors
    WHERE memory_key IN (SELECT memory_key FROM page) ORDER BY memory_key FOR SHARE
), copied AS (
    INSERT INTO memory_halfvecs (project_id, memory_key, half)
    SELECT project_id, memory_key, half_of_bytes(vector) FROM picked
    ON CONFLICT (project_id, memory_key) DO NOTHING
)
SELECT COUNT(*) AS number, MAX(memory_key) AS last FROM page;
