-- What several machines on one database owe each other: news of what was changed or forgotten, the vectors that others
-- made, and which machines use them.

ALTER TABLE news ADD COLUMN is_change boolean NOT NULL DEFAULT false; -- true: what was rendered of it must go

CREATE FUNCTION observation_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO news (project_id, is_change)
    SELECT DISTINCT project_id, true FROM (VALUES (OLD.project_id), (NEW.project_id)) AS p (project_id)
    WHERE project_id IS NOT NULL;
    NOTIFY claude_mem_news;
    RETURN NULL;
END $$;

CREATE TRIGGER observation_changed AFTER UPDATE ON observations FOR EACH ROW
    WHEN ((OLD.project_id, OLD.type, OLD.title, OLD.subtitle, OLD.narrative, OLD.facts, OLD.concepts, OLD.pinned, OLD.wrong)
          IS DISTINCT FROM
          (NEW.project_id, NEW.type, NEW.title, NEW.subtitle, NEW.narrative, NEW.facts, NEW.concepts, NEW.pinned, NEW.wrong))
    EXECUTE FUNCTION observation_changed();

-- Once for each statement: thousands may be forgotten by one.
CREATE FUNCTION memories_forgotten() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO news (project_id, is_change)
    SELECT DISTINCT COALESCE(s.project_id, CAST(to_jsonb(g) ->> 'project_id' AS bigint)), true
    FROM gone AS g LEFT JOIN sdk_sessions AS s ON s.id = g.session_id
    WHERE COALESCE(s.project_id, CAST(to_jsonb(g) ->> 'project_id' AS bigint)) IS NOT NULL;
    NOTIFY claude_mem_news;
    RETURN NULL;
END $$;

CREATE TRIGGER observations_forgotten AFTER DELETE ON observations REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION memories_forgotten();
CREATE TRIGGER summaries_forgotten AFTER DELETE ON session_summaries REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION memories_forgotten();
CREATE TRIGGER prompts_forgotten AFTER DELETE ON user_prompts REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION memories_forgotten();

-- A session is gone, or is another project's; a project has another name.
CREATE FUNCTION session_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO news (project_id, is_change) VALUES (OLD.project_id, true);
    IF TG_OP = 'UPDATE' THEN
        INSERT INTO news (project_id, is_change) VALUES (NEW.project_id, true);
    END IF;
    NOTIFY claude_mem_news;
    RETURN NULL;
END $$;

CREATE TRIGGER session_moved AFTER UPDATE OF project_id ON sdk_sessions FOR EACH ROW
    WHEN (OLD.project_id IS DISTINCT FROM NEW.project_id) EXECUTE FUNCTION session_changed();
CREATE TRIGGER session_forgotten AFTER DELETE ON sdk_sessions FOR EACH ROW EXECUTE FUNCTION session_changed();

-- Vectors that others made are read by the transaction that stored them.
ALTER TABLE memory_vectors ADD COLUMN transaction xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX memory_vectors_by_transaction ON memory_vectors (transaction);

-- Which machines use the vectors, and when they last said so.
CREATE TABLE vector_users (
    machine text COLLATE "C" PRIMARY KEY,
    seen_at timestamptz NOT NULL DEFAULT now()
);
