-- Any number of projects: a memory's key was one integer of project, session, kind and id, which 16,383 projects filled.
-- Now the project is a column, and the key has room for more sessions and memories (`wide_key` in model/refs.py).
-- The indexes are derived: words and files are made again, in the background and in short steps, the newest first.
-- Vectors may have cost money, and get their new keys here. A process of the version before goes on reading, and finds
-- no words: no key of before is left. Long steps come first; they keep nobody from reading.

-- Of a memory that was moved while its vector was made, there may be another one under the project of before.
CREATE TABLE vectors_by_wide_key AS
SELECT DISTINCT ON (m.kind, m.id)
       (-9223372036854775807 - 1) | (m.session_id << 33) | (m.kind << 31) | m.id AS memory_key,
       m.project_id, pg_current_xact_id() AS stored_by, v.vector
FROM (SELECT CAST(0 AS bigint) AS kind, id, session_id, project_id FROM observations WHERE project_id IS NOT NULL
      UNION ALL
      SELECT 1, y.id, y.session_id, s.project_id FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id
      UNION ALL
      SELECT 2, u.id, u.session_id, s.project_id FROM user_prompts AS u JOIN sdk_sessions AS s ON s.id = u.session_id) AS m
JOIN memory_vectors AS v ON (v.memory_key >> 25) & 3 = m.kind AND v.memory_key & 33554431 = m.id
                        AND (v.memory_key >> 27) & 4194303 = m.session_id
ORDER BY m.kind, m.id, v.memory_key >> 49 = m.project_id DESC;

INSERT INTO unindexed (kind, id)
SELECT 'observation', id FROM observations UNION ALL SELECT 'summary', id FROM session_summaries
UNION ALL SELECT 'prompt', id FROM user_prompts UNION ALL SELECT 'evidence', id FROM pending_messages
ON CONFLICT DO NOTHING;

-- What had no place in the indexes has one now.
INSERT INTO unembedded (kind, id)
SELECT 'observation', id FROM observations WHERE project_id > 16383 OR session_id > 4194303 OR id > 33554431
UNION ALL
SELECT 'summary', y.id FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id
WHERE s.project_id > 16383 OR s.id > 4194303 OR y.id > 33554431
UNION ALL
SELECT 'prompt', u.id FROM user_prompts AS u JOIN sdk_sessions AS s ON s.id = u.session_id
WHERE s.project_id > 16383 OR s.id > 4194303 OR u.id > 33554431
ON CONFLICT DO NOTHING;

ALTER TABLE vectors_by_wide_key ALTER COLUMN memory_key SET NOT NULL, ALTER COLUMN project_id SET NOT NULL,
    ALTER COLUMN stored_by SET NOT NULL, ALTER COLUMN stored_by SET DEFAULT pg_current_xact_id(),
    ALTER COLUMN vector SET NOT NULL;
CREATE UNIQUE INDEX wide_memory_vectors_pkey ON vectors_by_wide_key (memory_key);
CREATE INDEX memory_vectors_by_project ON vectors_by_wide_key (project_id, memory_key);

-- From here on readers wait, for a moment.
DROP TABLE memory_vectors, memory_words, memory_documents, memory_files;
TRUNCATE text_totals;

ALTER TABLE vectors_by_wide_key RENAME TO memory_vectors;
ALTER TABLE memory_vectors ADD CONSTRAINT memory_vectors_pkey PRIMARY KEY USING INDEX wide_memory_vectors_pkey;
DO $$
DECLARE
    made record;
BEGIN
    FOR made IN SELECT conname FROM pg_constraint
                WHERE conrelid = 'memory_vectors'::regclass AND conname LIKE 'vectors\_by\_wide\_key\_%' LOOP
        EXECUTE format('ALTER TABLE memory_vectors RENAME CONSTRAINT %I TO %I', made.conname,
                       replace(made.conname, 'vectors_by_wide_key', 'memory_vectors'));
    END LOOP;
END $$;
CREATE INDEX memory_vectors_by_transaction ON memory_vectors (stored_by);

CREATE TABLE memory_words (
    project_id bigint NOT NULL,
    memory_key bigint NOT NULL,
    word       text COLLATE "C" NOT NULL,
    places     integer[] NOT NULL,
    PRIMARY KEY (word, project_id, memory_key)
);

CREATE TABLE memory_documents (
    project_id bigint NOT NULL,
    memory_key bigint NOT NULL,
    id         bigint NOT NULL,
    tokens     integer NOT NULL,
    is_tool    smallint NOT NULL,               -- 1: it has a tool's words
    kind       text COLLATE "C" NOT NULL,
    words      text[] NOT NULL,                 -- all different ones, by which its rows above are found again
    PRIMARY KEY (project_id, memory_key),
    UNIQUE (kind, id)
);

CREATE TABLE memory_files (
    project_id bigint NOT NULL,
    memory_key bigint NOT NULL,
    base       text COLLATE "C" NOT NULL,       -- the last part of the path, in lower case
    path       text COLLATE "C" NOT NULL,
    folder     text COLLATE "C" NOT NULL,       -- the rest of it, in lower case
    how        text NOT NULL CHECK (how IN ('modified', 'read', 'named')),
    PRIMARY KEY (base, project_id, memory_key, path)
);

CREATE INDEX memory_files_by_key ON memory_files (memory_key);
CREATE INDEX memory_files_by_project ON memory_files (project_id, memory_key);
CREATE INDEX memory_files_by_folder ON memory_files (folder, project_id, memory_key);

-- Members of a team go on reading.
DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'claude_mem_member') THEN
        GRANT SELECT ON memory_words, memory_documents, memory_files, memory_vectors TO claude_mem_member;
    END IF;
END $$;

-- Another backend's vectors have other keys now, too: it makes them anew.
DELETE FROM derived WHERE name BETWEEN 'vectors_' AND 'vectors_~'
    AND EXISTS (SELECT 1 FROM derived WHERE name = 'vectors_made_by' AND value NOT LIKE 'builtin%');

CREATE OR REPLACE FUNCTION memory_removed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    gone record;
BEGIN
    FOR gone IN DELETE FROM memory_documents WHERE kind = TG_ARGV[0] AND id = OLD.id
                RETURNING project_id, memory_key, words, tokens LOOP
        DELETE FROM memory_words
        WHERE word = ANY (gone.words) AND project_id = gone.project_id AND memory_key = gone.memory_key;
        DELETE FROM memory_files WHERE memory_key = gone.memory_key;
        DELETE FROM memory_vectors WHERE memory_key = gone.memory_key;
        UPDATE text_totals SET documents = documents - 1, tokens = tokens - gone.tokens
        WHERE project_id = gone.project_id;
    END LOOP;
    DELETE FROM unindexed WHERE kind = TG_ARGV[0] AND id = OLD.id;
    DELETE FROM unembedded WHERE kind = TG_ARGV[0] AND id = OLD.id;
    DELETE FROM team_changes WHERE kind = TG_ARGV[0] AND memory_id = OLD.id;
    RETURN NULL;
END $$;
