-- The vectors once more, as the extension `vector` compares them: run when a database has it and not this yet. The
-- search_path has the extension's schema in it; the bodies of the SQL functions are bound to what it finds there.
-- Who sees what is in access.sql, which is run after it.

DROP TABLE IF EXISTS memory_halfvecs;
DROP FUNCTION IF EXISTS vector_changed() CASCADE;
DELETE FROM derived WHERE name = 'halfvecs';

-- Of `memory_vectors`: the same rows, kept in step by the trigger below. What was there before is copied in steps.
CREATE TABLE memory_halfvecs (
    project_id bigint NOT NULL,
    memory_key bigint NOT NULL,
    half       halfvec NOT NULL,                -- of length 1, or all zeros: a product is a cosine
    PRIMARY KEY (project_id, memory_key)
) WITH (toast_tuple_target = 8160);             -- read whole, all of them: not from another table

-- Without a rule it is closed to members.
ALTER TABLE memory_halfvecs ENABLE ROW LEVEL SECURITY;

-- One byte a dimension, from -128 to 127.
CREATE OR REPLACE FUNCTION half_of_bytes(vector bytea) RETURNS halfvec LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN l2_normalize(CAST(ARRAY(SELECT (get_byte(vector, at) # 128) - 128
                               FROM generate_series(0, length(vector) - 1) AS at) AS halfvec));

CREATE OR REPLACE FUNCTION half_of_text(vector text) RETURNS halfvec LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN CAST(vector AS halfvec);

-- The closest are the smallest; those of another model, which cannot be compared, are last.
CREATE OR REPLACE FUNCTION half_distance(one halfvec, other halfvec) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN vector_dims(one) = vector_dims(other) THEN one <#> other END;

CREATE FUNCTION vector_changed() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM memory_halfvecs WHERE project_id = OLD.project_id AND memory_key = OLD.memory_key;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO memory_halfvecs (project_id, memory_key, half)
        VALUES (NEW.project_id, NEW.memory_key, half_of_bytes(NEW.vector))
        ON CONFLICT (project_id, memory_key) DO UPDATE SET half = excluded.half;
    END IF;
    RETURN NULL;
END $$;

-- Nothing else shows what its body needs: without the extension nobody could store a vector.
ALTER FUNCTION vector_changed() DEPENDS ON EXTENSION vector;

CREATE TRIGGER vector_changed AFTER INSERT OR UPDATE OR DELETE ON memory_vectors
    FOR EACH ROW EXECUTE FUNCTION vector_changed();

-- From here on nobody writes without it: where there is none yet, all are copied.
INSERT INTO derived (name, value) SELECT 'halfvecs', 'all' WHERE NOT EXISTS (SELECT 1 FROM memory_vectors);

DO $$
BEGIN
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'claude_mem_member') THEN
        GRANT SELECT ON memory_halfvecs TO claude_mem_member;
    END IF;
END $$;
