-- A team's members, their machines' keys, and what each may do in which project. Who is acting is set for each
-- transaction (see access.sql); without it, as for one person's database, nobody of a team is.

CREATE FUNCTION acting_member() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT NULLIF(current_setting('claude_mem.member', true), '') COLLATE "C" $$;

CREATE TABLE team_members (
    name             text COLLATE "C" PRIMARY KEY,
    admin            boolean NOT NULL,
    created_at_epoch bigint NOT NULL,
    removed_at_epoch bigint                     -- its name is not another's afterwards
);

CREATE TABLE team_keys (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    digest           bytea NOT NULL UNIQUE,     -- SHA-256 of the secret
    member           text COLLATE "C" NOT NULL REFERENCES team_members(name),
    machine          text COLLATE "C" NOT NULL,
    scopes           text[] NOT NULL CHECK (scopes <@ ARRAY['read', 'write', 'admin']),
    created_at_epoch bigint NOT NULL,
    expires_at_epoch bigint,
    revoked_at_epoch bigint,
    used_at_epoch    bigint                     -- to the hour
);

CREATE INDEX team_keys_by_member ON team_keys (member);

CREATE TABLE team_grants (
    member      text COLLATE "C" NOT NULL REFERENCES team_members(name),
    project_id  bigint NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
    level       text NOT NULL CHECK (level IN ('read', 'write', 'admin')),
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(), -- of the first grant: what is older is pulled then
    PRIMARY KEY (member, project_id)
);

CREATE INDEX team_grants_by_project ON team_grants (project_id);

-- What a pull reads: each memory once, by the transaction that changed it last. A pull ends before the oldest
-- transaction that is still open, so none is passed over, in whichever order they commit.
CREATE TABLE team_changes (
    kind        text COLLATE "C" NOT NULL,
    memory_id   bigint NOT NULL,
    project_id  bigint NOT NULL,
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(),
    member      text COLLATE "C",
    machine     text COLLATE "C",               -- which sent it, and needs not pull it
    PRIMARY KEY (kind, memory_id)
);

CREATE INDEX team_changes_by_transaction ON team_changes (transaction, kind, memory_id);
CREATE INDEX team_changes_by_project ON team_changes (project_id, transaction);

-- Which machines have memories of a project, or are about to.
CREATE TABLE team_pulls (
    member     text COLLATE "C" NOT NULL REFERENCES team_members(name),
    machine    text COLLATE "C" NOT NULL,
    project_id bigint NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
    PRIMARY KEY (member, machine, project_id)
);

CREATE INDEX team_pulls_by_project ON team_pulls (project_id);

-- What was forgotten: no content, only by what a machine finds its copy.
CREATE TABLE team_forgets (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction      xid8 NOT NULL DEFAULT pg_current_xact_id(),
    kind             text COLLATE "C" NOT NULL CHECK (kind IN ('session', 'observation', 'summary', 'prompt')),
    digest           text COLLATE "C" NOT NULL,  -- of its name
    at               bigint NOT NULL,            -- when it was made
    project_id       bigint,                     -- NULL: the project is gone
    project          text COLLATE "C" NOT NULL,  -- its key
    member           text COLLATE "C" NOT NULL,
    created_at_epoch bigint NOT NULL,
    UNIQUE (kind, digest)
);

CREATE INDEX team_forgets_by_transaction ON team_forgets (transaction, id);

-- Which machines are to carry it out.
CREATE TABLE team_acknowledgements (
    forget_id             bigint NOT NULL REFERENCES team_forgets(id) ON DELETE CASCADE,
    member                text COLLATE "C" NOT NULL,
    machine               text COLLATE "C" NOT NULL,
    acknowledged_at_epoch bigint,
    PRIMARY KEY (forget_id, member, machine)
);

CREATE INDEX team_acknowledgements_waiting ON team_acknowledgements (member, machine)
    WHERE acknowledged_at_epoch IS NULL;

-- What admins did: never a memory's text.
CREATE TABLE team_audit (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at_epoch bigint NOT NULL,
    member           text COLLATE "C" NOT NULL,
    key_id           bigint,
    action           text COLLATE "C" NOT NULL,
    subject          text COLLATE "C" NOT NULL
);

-- Whose session it is; NULL: the database's owner's.
ALTER TABLE sdk_sessions ADD COLUMN author text COLLATE "C";
ALTER TABLE sdk_sessions ALTER COLUMN author SET DEFAULT acting_member();

CREATE INDEX sdk_sessions_by_author ON sdk_sessions (author) WHERE author IS NOT NULL;

-- What is gone is not to be indexed, embedded or pulled. Who forgets it takes it out of the index before; this is for
-- what was added and indexed since, and goes with its session.
CREATE FUNCTION memory_removed() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    gone record;
BEGIN
    FOR gone IN DELETE FROM memory_documents WHERE kind = TG_ARGV[0] AND id = OLD.id RETURNING memory_key, words, tokens LOOP
        DELETE FROM memory_words WHERE memory_key = gone.memory_key AND word = ANY (gone.words);
        DELETE FROM memory_files WHERE memory_key = gone.memory_key;
        DELETE FROM memory_vectors WHERE memory_key = gone.memory_key;
        UPDATE text_totals SET documents = documents - 1, tokens = tokens - gone.tokens
        WHERE project_id = gone.memory_key >> 49;
    END LOOP;
    DELETE FROM unindexed WHERE kind = TG_ARGV[0] AND id = OLD.id;
    DELETE FROM unembedded WHERE kind = TG_ARGV[0] AND id = OLD.id;
    DELETE FROM team_changes WHERE kind = TG_ARGV[0] AND memory_id = OLD.id;
    RETURN NULL;
END $$;

CREATE TRIGGER observation_removed AFTER DELETE ON observations FOR EACH ROW EXECUTE FUNCTION memory_removed('observation');
CREATE TRIGGER summary_removed AFTER DELETE ON session_summaries FOR EACH ROW EXECUTE FUNCTION memory_removed('summary');
CREATE TRIGGER prompt_removed AFTER DELETE ON user_prompts FOR EACH ROW EXECUTE FUNCTION memory_removed('prompt');
CREATE TRIGGER evidence_removed AFTER DELETE ON pending_messages FOR EACH ROW EXECUTE FUNCTION memory_removed('evidence');

-- What others are to pull. Nothing is listed in a database that no team uses.
CREATE FUNCTION memory_shared() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    of_project bigint;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM team_members) THEN
        RETURN NULL;
    END IF;
    IF TG_ARGV[0] = 'observation' THEN
        of_project := NEW.project_id;
    ELSE
        SELECT project_id INTO of_project FROM sdk_sessions WHERE id = NEW.session_id;
    END IF;
    INSERT INTO team_changes AS c (kind, memory_id, project_id, member, machine)
    SELECT TG_ARGV[0], NEW.id, of_project, acting_member(), NULLIF(current_setting('claude_mem.machine', true), '')
    WHERE of_project IS NOT NULL
    ON CONFLICT (kind, memory_id) DO UPDATE
        SET project_id = excluded.project_id, transaction = excluded.transaction, member = excluded.member,
            machine = excluded.machine;
    RETURN NULL;
END $$;

CREATE TRIGGER observation_shared AFTER INSERT OR UPDATE ON observations
    FOR EACH ROW EXECUTE FUNCTION memory_shared('observation');
CREATE TRIGGER summary_shared AFTER INSERT OR UPDATE ON session_summaries
    FOR EACH ROW EXECUTE FUNCTION memory_shared('summary');
CREATE TRIGGER prompt_shared AFTER INSERT OR UPDATE ON user_prompts
    FOR EACH ROW EXECUTE FUNCTION memory_shared('prompt');
