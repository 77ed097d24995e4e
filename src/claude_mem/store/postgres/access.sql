-- Who of a team sees and changes what: run after the tables are made or migrated, so it says what holds, not what changed.
-- A member's transactions run as the role claude_mem_member, which owns nothing, with `claude_mem.member`,
-- `claude_mem.machine` and `claude_mem.scopes` set for the transaction. A table without a policy for something allows
-- that to nobody but its owner, whom these rules do not bind.

-- What is kept in step by triggers is no member's to write.
ALTER FUNCTION job_added() SECURITY DEFINER SET search_path = claude_mem, pg_temp;
ALTER FUNCTION job_moved() SECURITY DEFINER SET search_path = claude_mem, pg_temp;
ALTER FUNCTION memory_added() SECURITY DEFINER SET search_path = claude_mem, pg_temp;
ALTER FUNCTION session_compacted() SECURITY DEFINER SET search_path = claude_mem, pg_temp;
ALTER FUNCTION session_added() SECURITY DEFINER SET search_path = claude_mem, pg_temp;
ALTER FUNCTION observation_changed() SECURITY DEFINER SET search_path = claude_mem, pg_temp;
ALTER FUNCTION memories_forgotten() SECURITY DEFINER SET search_path = claude_mem, pg_temp;
ALTER FUNCTION session_changed() SECURITY DEFINER SET search_path = claude_mem, pg_temp;
ALTER FUNCTION memory_removed() SECURITY DEFINER SET search_path = claude_mem, pg_temp;
ALTER FUNCTION memory_shared() SECURITY DEFINER SET search_path = claude_mem, pg_temp;

CREATE OR REPLACE FUNCTION has_scope(wanted text) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS
$$ SELECT wanted = ANY (string_to_array(current_setting('claude_mem.scopes', true), ',')) $$;

-- Asked once for each statement, not for each row: `= ANY ((SELECT readable_projects())::bigint[])` where an index by
-- the project helps, else `IN (SELECT UNNEST(readable_projects()))`, which is hashed: 5,000 rows take 2 ms with 3,000
-- projects, compared with an array 200.
CREATE OR REPLACE FUNCTION readable_projects() RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ SELECT COALESCE(array_agg(project_id), '{}') FROM team_grants
   WHERE member = acting_member() AND has_scope('read') $$;

CREATE OR REPLACE FUNCTION writable_projects() RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ SELECT COALESCE(array_agg(project_id), '{}') FROM team_grants
   WHERE member = acting_member() AND level IN ('write', 'admin') AND has_scope('write') $$;

CREATE OR REPLACE FUNCTION administered_projects() RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ SELECT COALESCE(array_agg(project_id), '{}') FROM team_grants
   WHERE member = acting_member() AND level = 'admin' AND has_scope('write') $$;

CREATE OR REPLACE FUNCTION is_team_admin() RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ SELECT has_scope('admin') AND EXISTS (SELECT 1 FROM team_members
                                         WHERE name = acting_member() AND admin AND removed_at_epoch IS NULL) $$;

-- The acting member's own session.
CREATE OR REPLACE FUNCTION is_own_session(session bigint) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ SELECT EXISTS (SELECT 1 FROM sdk_sessions WHERE id = session AND author = acting_member()) $$;

CREATE OR REPLACE FUNCTION project_of_session(session bigint) RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ SELECT project_id FROM sdk_sessions WHERE id = session $$;

-- A session may have observations of other projects, and they go with it.
CREATE OR REPLACE FUNCTION administers_all_of(session bigint) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ SELECT NOT EXISTS (SELECT 1 FROM observations
                      WHERE session_id = session AND project_id <> ALL (administered_projects())) $$;

-- Share a project: whoever is the first administers it. Returns what the member may do there; NULL: it is there, and
-- the member may do nothing.
CREATE OR REPLACE FUNCTION open_project(key text, name text, remote text, at bigint, at_iso text) RETURNS text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = claude_mem, pg_temp AS $$
DECLARE
    found bigint;
BEGIN
    IF acting_member() IS NULL OR NOT has_scope('write') THEN
        RETURN NULL;
    END IF;
    SELECT COALESCE((SELECT a.project_id FROM project_aliases AS a WHERE a.key = open_project.key),
                    (SELECT p.id FROM projects AS p WHERE p.key = open_project.key)) INTO found;
    IF found IS NULL THEN
        INSERT INTO projects (key, name, root, remote, created_at, created_at_epoch)
        VALUES (open_project.key, open_project.name, '', open_project.remote, at_iso, at) RETURNING id INTO found;
        INSERT INTO team_grants (member, project_id, level) VALUES (acting_member(), found, 'admin');
    END IF;
    RETURN (SELECT g.level FROM team_grants AS g WHERE g.member = acting_member() AND g.project_id = found);
END $$;

-- Of some sessions, by the clients' ids, those that are somebody else's.
CREATE OR REPLACE FUNCTION others_sessions(names json) RETURNS SETOF text LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ SELECT s.claude_session_id FROM json_array_elements_text(names) AS n
   JOIN sdk_sessions AS s ON s.claude_session_id = n COLLATE "C"
   WHERE acting_member() IS NOT NULL AND s.author IS DISTINCT FROM acting_member() $$;

-- Of some digests of names, those of what was forgotten.
CREATE OR REPLACE FUNCTION forgotten_names(digests json) RETURNS SETOF text LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ SELECT DISTINCT f.digest FROM json_array_elements_text(digests) AS d JOIN team_forgets AS f ON f.digest = d COLLATE "C"
   WHERE acting_member() IS NOT NULL $$;

CREATE OR REPLACE FUNCTION is_member(named text) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ SELECT (is_team_admin() OR cardinality(administered_projects()) > 0)
       AND EXISTS (SELECT 1 FROM team_members WHERE name = named AND removed_at_epoch IS NULL) $$;

-- Whether a forget is of a project that the member reads, or the member's own.
CREATE OR REPLACE FUNCTION acknowledgement_is_seen(forget bigint) RETURNS boolean LANGUAGE sql STABLE
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ SELECT EXISTS (SELECT 1 FROM team_forgets AS f WHERE f.id = forget AND has_scope('read')
                  AND (f.member = acting_member() OR f.project_id = ANY (readable_projects()))) $$;

-- Noted for the admins: by the tables themselves, so that nothing passes by it.
CREATE OR REPLACE FUNCTION note_deed(action text, subject text) RETURNS void LANGUAGE sql
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS
$$ INSERT INTO team_audit (created_at_epoch, member, key_id, action, subject)
   VALUES (CAST(extract(epoch FROM clock_timestamp()) * 1000 AS bigint), COALESCE(acting_member(), ''),
           CAST(NULLIF(current_setting('claude_mem.key', true), '') AS bigint), action, subject) $$;
REVOKE EXECUTE ON FUNCTION note_deed(text, text) FROM PUBLIC;

CREATE OR REPLACE FUNCTION team_changed() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS $$
DECLARE
    changed record := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    IF TG_TABLE_NAME = 'team_members' THEN
        PERFORM note_deed(CASE WHEN changed.removed_at_epoch IS NULL THEN 'member.add' ELSE 'member.remove' END, changed.name);
    ELSIF TG_TABLE_NAME = 'team_keys' THEN
        PERFORM note_deed(CASE WHEN changed.revoked_at_epoch IS NULL THEN 'key.add' ELSE 'key.revoke' END,
                          'k' || changed.id || ' ' || changed.member || '/' || changed.machine);
    ELSE
        PERFORM note_deed(CASE WHEN TG_OP = 'DELETE' THEN 'grant.end' ELSE 'grant.' || changed.level END,
                          changed.member || ' ' || COALESCE((SELECT p.key FROM projects AS p WHERE p.id = changed.project_id), ''));
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER member_changed AFTER INSERT OR UPDATE OR DELETE ON team_members
    FOR EACH ROW EXECUTE FUNCTION team_changed();
CREATE OR REPLACE TRIGGER key_changed AFTER INSERT OR UPDATE OF revoked_at_epoch OR DELETE ON team_keys
    FOR EACH ROW EXECUTE FUNCTION team_changed();
CREATE OR REPLACE TRIGGER grant_changed AFTER INSERT OR UPDATE OR DELETE ON team_grants
    FOR EACH ROW EXECUTE FUNCTION team_changed();

-- What a member shares stays in the project that it was shared with: the index goes by the project.
CREATE OR REPLACE FUNCTION session_stays() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = claude_mem, pg_temp AS $$
BEGIN
    IF NEW.project_id <> OLD.project_id AND acting_member() IS NOT NULL THEN
        RAISE insufficient_privilege USING MESSAGE = 'A session stays in its project.';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE TRIGGER session_stays BEFORE UPDATE OF project_id ON sdk_sessions
    FOR EACH ROW EXECUTE FUNCTION session_stays();

-- The rules. They are made anew, so that none of an older version is left.

DO $$
DECLARE
    made record;
BEGIN
    FOR made IN SELECT policyname, tablename FROM pg_policies WHERE schemaname = 'claude_mem' LOOP
        EXECUTE format('DROP POLICY %I ON claude_mem.%I', made.policyname, made.tablename);
    END LOOP;
    FOR made IN SELECT relname FROM pg_class WHERE relnamespace = 'claude_mem'::regnamespace AND relkind IN ('r', 'p') LOOP
        EXECUTE format('ALTER TABLE claude_mem.%I ENABLE ROW LEVEL SECURITY', made.relname);
    END LOOP;
END $$;

CREATE POLICY seen ON schema_version FOR SELECT USING (true);

-- What belongs to a project.
CREATE POLICY seen ON projects FOR SELECT
    USING (id = ANY ((SELECT readable_projects())::bigint[]) OR (SELECT is_team_admin()));
CREATE POLICY changed ON projects FOR UPDATE
    USING (id = ANY ((SELECT administered_projects())::bigint[]))
    WITH CHECK (id = ANY ((SELECT administered_projects())::bigint[]));
CREATE POLICY seen ON project_aliases FOR SELECT
    USING (project_id = ANY ((SELECT readable_projects())::bigint[]) OR (SELECT is_team_admin()));
CREATE POLICY seen ON news FOR SELECT USING (project_id = ANY ((SELECT readable_projects())::bigint[]));

CREATE POLICY seen ON sdk_sessions FOR SELECT USING (project_id = ANY ((SELECT readable_projects())::bigint[]));
CREATE POLICY added ON sdk_sessions FOR INSERT
    WITH CHECK (author = (SELECT acting_member()) AND project_id = ANY ((SELECT writable_projects())::bigint[]));
CREATE POLICY changed ON sdk_sessions FOR UPDATE
    USING (author = (SELECT acting_member()) AND project_id = ANY ((SELECT writable_projects())::bigint[]))
    WITH CHECK (author = (SELECT acting_member()) AND project_id = ANY ((SELECT writable_projects())::bigint[]));
CREATE POLICY removed ON sdk_sessions FOR DELETE
    USING ((author = (SELECT acting_member()) AND (SELECT has_scope('write')))
           OR project_id = ANY ((SELECT administered_projects())::bigint[]) AND administers_all_of(id));

CREATE POLICY seen ON observations FOR SELECT USING (project_id = ANY ((SELECT readable_projects())::bigint[]));
CREATE POLICY added ON observations FOR INSERT
    WITH CHECK (project_id = ANY ((SELECT writable_projects())::bigint[]) AND is_own_session(session_id));
CREATE POLICY changed ON observations FOR UPDATE
    USING (project_id = ANY ((SELECT writable_projects())::bigint[]) AND is_own_session(session_id))
    WITH CHECK (project_id = ANY ((SELECT writable_projects())::bigint[]) AND is_own_session(session_id));
CREATE POLICY removed ON observations FOR DELETE
    USING (((SELECT has_scope('write')) AND is_own_session(session_id))
           OR project_id = ANY ((SELECT administered_projects())::bigint[]));

-- What belongs to a session.
CREATE POLICY seen ON session_summaries FOR SELECT
    USING (EXISTS (SELECT 1 FROM sdk_sessions AS s
                   WHERE s.id = session_id AND s.project_id = ANY ((SELECT readable_projects())::bigint[])));
CREATE POLICY added ON session_summaries FOR INSERT
    WITH CHECK (is_own_session(session_id)
                AND project_of_session(session_id) IN (SELECT UNNEST(writable_projects())));
CREATE POLICY removed ON session_summaries FOR DELETE
    USING (((SELECT has_scope('write')) AND is_own_session(session_id))
           OR project_of_session(session_id) IN (SELECT UNNEST(administered_projects())));

CREATE POLICY seen ON user_prompts FOR SELECT
    USING (EXISTS (SELECT 1 FROM sdk_sessions AS s
                   WHERE s.id = session_id AND s.project_id = ANY ((SELECT readable_projects())::bigint[])));
CREATE POLICY added ON user_prompts FOR INSERT
    WITH CHECK (is_own_session(session_id)
                AND project_of_session(session_id) IN (SELECT UNNEST(writable_projects())));
CREATE POLICY removed ON user_prompts FOR DELETE
    USING (((SELECT has_scope('write')) AND is_own_session(session_id))
           OR project_of_session(session_id) IN (SELECT UNNEST(administered_projects())));

CREATE POLICY seen ON observation_sightings FOR SELECT
    USING (EXISTS (SELECT 1 FROM sdk_sessions AS s
                   WHERE s.id = session_id AND s.project_id = ANY ((SELECT readable_projects())::bigint[]))
           AND observation_id IN (SELECT o.id FROM observations AS o WHERE o.id = observation_id));

-- What a machine does not share: only its member sees it.
CREATE POLICY seen ON pending_messages FOR SELECT
    USING (EXISTS (SELECT 1 FROM sdk_sessions AS s
                   WHERE s.id = session_id AND s.author = (SELECT acting_member())
                     AND s.project_id = ANY ((SELECT readable_projects())::bigint[])));
CREATE POLICY seen ON spending FOR SELECT
    USING (EXISTS (SELECT 1 FROM sdk_sessions AS s
                   WHERE s.id = session_id AND s.author = (SELECT acting_member())
                     AND s.project_id = ANY ((SELECT readable_projects())::bigint[])));
CREATE POLICY seen ON injections FOR SELECT
    USING (EXISTS (SELECT 1 FROM sdk_sessions AS s
                   WHERE s.claude_session_id = injections.claude_session_id AND s.author = acting_member()));

-- What is derived of memory.
CREATE POLICY seen ON memory_words FOR SELECT
    USING (project_id IN (SELECT UNNEST(readable_projects())));
CREATE POLICY seen ON memory_documents FOR SELECT
    USING (project_id IN (SELECT UNNEST(readable_projects())));
CREATE POLICY seen ON memory_files FOR SELECT
    USING (project_id IN (SELECT UNNEST(readable_projects())));
CREATE POLICY seen ON memory_vectors FOR SELECT
    USING (project_id IN (SELECT UNNEST(readable_projects())));
DO $$
BEGIN
    IF to_regclass('claude_mem.memory_halfvecs') IS NOT NULL THEN
        CREATE POLICY seen ON memory_halfvecs FOR SELECT USING (project_id = ANY ((SELECT readable_projects())::bigint[]));
    END IF;
END $$;
CREATE POLICY seen ON text_totals FOR SELECT USING (project_id = ANY ((SELECT readable_projects())::bigint[]));
CREATE POLICY seen ON derived FOR SELECT
    USING ((SELECT acting_member()) IS NOT NULL AND name NOT LIKE 'vectors\_forgotten\_%');
CREATE POLICY seen ON forgotten_sessions FOR SELECT USING ((SELECT acting_member()) IS NOT NULL);

-- The team.
CREATE POLICY seen ON team_members FOR SELECT USING (name = (SELECT acting_member()) OR (SELECT is_team_admin()));
CREATE POLICY managed ON team_members FOR ALL USING ((SELECT is_team_admin())) WITH CHECK ((SELECT is_team_admin()));

CREATE POLICY seen ON team_keys FOR SELECT USING (member = (SELECT acting_member()) OR (SELECT is_team_admin()));
CREATE POLICY managed ON team_keys FOR ALL USING ((SELECT is_team_admin())) WITH CHECK ((SELECT is_team_admin()));

CREATE POLICY seen ON team_grants FOR SELECT
    USING (member = (SELECT acting_member()) OR (SELECT is_team_admin())
           OR project_id = ANY ((SELECT administered_projects())::bigint[]));
CREATE POLICY managed ON team_grants FOR ALL
    USING ((SELECT is_team_admin())
           OR ((SELECT has_scope('admin')) AND project_id = ANY ((SELECT administered_projects())::bigint[])))
    WITH CHECK ((SELECT is_team_admin())
                OR ((SELECT has_scope('admin')) AND project_id = ANY ((SELECT administered_projects())::bigint[])));

CREATE POLICY seen ON team_changes FOR SELECT USING (project_id = ANY ((SELECT readable_projects())::bigint[]));

CREATE POLICY seen ON team_pulls FOR SELECT
    USING (member = (SELECT acting_member()) OR project_id = ANY ((SELECT readable_projects())::bigint[]));
CREATE POLICY added ON team_pulls FOR INSERT
    WITH CHECK (member = (SELECT acting_member()) AND machine = (SELECT current_setting('claude_mem.machine', true))
                AND project_id = ANY ((SELECT readable_projects())::bigint[]));

-- A machine that has a copy learns of it, whatever its member may read by now.
CREATE POLICY seen ON team_forgets FOR SELECT
    USING (project_id = ANY ((SELECT readable_projects())::bigint[])
           OR member = (SELECT acting_member()) AND (SELECT has_scope('read'))
           OR id IN (SELECT a.forget_id FROM team_acknowledgements AS a
                     WHERE a.forget_id = id AND a.member = (SELECT acting_member())));
CREATE POLICY seen ON team_acknowledgements FOR SELECT
    USING (member = (SELECT acting_member()) OR acknowledgement_is_seen(forget_id));
CREATE POLICY changed ON team_acknowledgements FOR UPDATE
    USING (member = (SELECT acting_member()) AND machine = (SELECT current_setting('claude_mem.machine', true)))
    WITH CHECK (member = (SELECT acting_member()) AND machine = (SELECT current_setting('claude_mem.machine', true)));

CREATE POLICY seen ON team_server FOR SELECT USING ((SELECT acting_member()) IS NOT NULL);

CREATE POLICY seen ON team_audit FOR SELECT USING ((SELECT is_team_admin()));
