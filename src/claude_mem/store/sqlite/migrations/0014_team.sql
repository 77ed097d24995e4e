-- Whose session it is, and what is shared with a team: see schema.sql.
ALTER TABLE sdk_sessions ADD COLUMN author TEXT;
CREATE INDEX sdk_sessions_by_author ON sdk_sessions (author, created_at_epoch) WHERE author IS NOT NULL;

-- Sharing with a team. Nothing is listed here unless its project is shared from this machine.

CREATE TABLE team_projects (
    project_id INTEGER PRIMARY KEY REFERENCES projects(id) ON DELETE CASCADE,
    prompts    INTEGER NOT NULL DEFAULT 0 CHECK (prompts IN (0, 1)) -- 1: with what was asked
);

-- What is to be sent, or sent again: listed by the triggers below, in the transaction that changes it.
CREATE TABLE team_outbox (
    kind             TEXT NOT NULL CHECK (kind IN ('observation', 'summary', 'prompt')),
    memory_id        INTEGER NOT NULL,
    changes          INTEGER NOT NULL DEFAULT 1, -- what changes while it is being sent stays listed
    not_before_epoch INTEGER NOT NULL DEFAULT 0,
    at_once          INTEGER NOT NULL DEFAULT 0 CHECK (at_once IN (0, 1)), -- 1: whatever its branch
    reason           TEXT,                       -- why it waits; NULL: it does not
    PRIMARY KEY (kind, memory_id)
) WITHOUT ROWID;

CREATE INDEX team_outbox_due ON team_outbox (not_before_epoch);

-- What the server has of this machine, or may have, by the name it has there.
CREATE TABLE team_sent (
    kind      TEXT NOT NULL CHECK (kind IN ('session', 'observation', 'summary', 'prompt')),
    memory_id INTEGER NOT NULL,
    name      TEXT NOT NULL,
    PRIMARY KEY (kind, memory_id)
) WITHOUT ROWID;

CREATE INDEX team_sent_by_name ON team_sent (name);

-- What the server is to forget.
CREATE TABLE team_forgets (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    name TEXT NOT NULL
);

-- What others' machines have forgotten, and this one has yet to acknowledge.
CREATE TABLE team_acknowledgements (
    id TEXT PRIMARY KEY
) WITHOUT ROWID;

-- What of others' was forgotten here: it does not come back.
CREATE TABLE team_barred (
    name TEXT PRIMARY KEY
) WITHOUT ROWID;

-- What git last said of a branch, also after it is gone.
CREATE TABLE team_branches (
    project_id      INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE,
    branch          TEXT NOT NULL,
    tip             TEXT NOT NULL,
    ahead           INTEGER NOT NULL DEFAULT 0 CHECK (ahead IN (0, 1)), -- 1: it had commits that the default branch had not
    merged_at_epoch INTEGER,                     -- when the default branch was first seen to have them
    PRIMARY KEY (project_id, branch)
) WITHOUT ROWID;

-- Pinned for the team. Other pins stay on this machine.
CREATE TABLE team_pins (
    observation_id INTEGER PRIMARY KEY REFERENCES observations(id) ON DELETE CASCADE
);

-- Which server, how far the last pull came, and how the last exchange went.
CREATE TABLE team_state (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- The sessions whose memories are shared: not those of other members, nor of strangers' files.
CREATE VIEW team_sessions AS
SELECT s.id, s.project_id, t.prompts
FROM sdk_sessions AS s JOIN team_projects AS t ON t.project_id = s.project_id
WHERE s.author IS NULL AND s.client <> 'import';

-- Where every project is shared, a new one is too.
CREATE TRIGGER team_project_added AFTER INSERT ON projects
WHEN EXISTS (SELECT 1 FROM team_state WHERE name = 'share_all')
BEGIN
    INSERT OR IGNORE INTO team_projects (project_id, prompts)
    SELECT NEW.id, value = 'prompts' FROM team_state WHERE name = 'share_all';
END;

CREATE TRIGGER team_observation_added AFTER INSERT ON observations
WHEN NEW.project_id IN (SELECT project_id FROM team_projects) AND NEW.session_id IN (SELECT id FROM team_sessions)
BEGIN
    INSERT INTO team_outbox (kind, memory_id) VALUES ('observation', NEW.id)
    ON CONFLICT (kind, memory_id) DO UPDATE SET changes = changes + 1, not_before_epoch = 0;
END;

CREATE TRIGGER team_observation_changed AFTER UPDATE ON observations
WHEN NEW.project_id IN (SELECT project_id FROM team_projects) AND NEW.session_id IN (SELECT id FROM team_sessions)
    AND (OLD.type, OLD.title, OLD.subtitle, OLD.narrative, OLD.facts, OLD.concepts, OLD.files_read,
        OLD.files_modified, OLD.text, OLD.wrong, OLD.supersedes, OLD.project_id, OLD.source)
    IS NOT
        (NEW.type, NEW.title, NEW.subtitle, NEW.narrative, NEW.facts, NEW.concepts, NEW.files_read,
        NEW.files_modified, NEW.text, NEW.wrong, NEW.supersedes, NEW.project_id, NEW.source)
BEGIN
    INSERT INTO team_outbox (kind, memory_id) VALUES ('observation', NEW.id)
    ON CONFLICT (kind, memory_id) DO UPDATE SET changes = changes + 1, not_before_epoch = 0;
END;

-- Edited, it goes by another name: the one the server has is to go.
CREATE TRIGGER team_observation_renamed AFTER UPDATE ON observations
WHEN OLD.content_key IS NOT NEW.content_key
BEGIN
    INSERT INTO team_forgets (kind, name)
    SELECT kind, name FROM team_sent WHERE kind = 'observation' AND memory_id = OLD.id;
    DELETE FROM team_sent WHERE kind = 'observation' AND memory_id = OLD.id;
END;

CREATE TRIGGER team_observation_forgotten AFTER DELETE ON observations
BEGIN
    INSERT INTO team_forgets (kind, name)
    SELECT kind, name FROM team_sent WHERE kind = 'observation' AND memory_id = OLD.id;
    DELETE FROM team_sent WHERE kind = 'observation' AND memory_id = OLD.id;
    DELETE FROM team_outbox WHERE kind = 'observation' AND memory_id = OLD.id;
    INSERT OR IGNORE INTO team_barred (name)
    SELECT s.claude_session_id || '/' || OLD.created_at_epoch || '/' || COALESCE(OLD.content_key, '-') FROM sdk_sessions AS s WHERE s.id = OLD.session_id AND s.author IS NOT NULL;
    -- Of another machine of one's own.
    INSERT INTO team_forgets (kind, name)
    SELECT 'observation', s.claude_session_id || '/' || OLD.created_at_epoch || '/' || COALESCE(OLD.content_key, '-') FROM sdk_sessions AS s
    WHERE s.id = OLD.session_id AND s.author = (SELECT value FROM team_state WHERE name = 'member');
END;

CREATE TRIGGER team_pin_added AFTER INSERT ON team_pins
WHEN (SELECT session_id FROM observations WHERE id = NEW.observation_id) IN (SELECT id FROM team_sessions)
BEGIN
    INSERT INTO team_outbox (kind, memory_id) VALUES ('observation', NEW.observation_id)
    ON CONFLICT (kind, memory_id) DO UPDATE SET changes = changes + 1, not_before_epoch = 0;
END;

CREATE TRIGGER team_pin_removed AFTER DELETE ON team_pins
WHEN (SELECT session_id FROM observations WHERE id = OLD.observation_id) IN (SELECT id FROM team_sessions)
BEGIN
    INSERT INTO team_outbox (kind, memory_id) VALUES ('observation', OLD.observation_id)
    ON CONFLICT (kind, memory_id) DO UPDATE SET changes = changes + 1, not_before_epoch = 0;
END;

CREATE TRIGGER team_summary_added AFTER INSERT ON session_summaries
WHEN NEW.session_id IN (SELECT id FROM team_sessions)
BEGIN
    INSERT INTO team_outbox (kind, memory_id) VALUES ('summary', NEW.id)
    ON CONFLICT (kind, memory_id) DO UPDATE SET changes = changes + 1, not_before_epoch = 0;
END;

CREATE TRIGGER team_summary_forgotten AFTER DELETE ON session_summaries
BEGIN
    INSERT INTO team_forgets (kind, name)
    SELECT kind, name FROM team_sent WHERE kind = 'summary' AND memory_id = OLD.id;
    DELETE FROM team_sent WHERE kind = 'summary' AND memory_id = OLD.id;
    DELETE FROM team_outbox WHERE kind = 'summary' AND memory_id = OLD.id;
    INSERT OR IGNORE INTO team_barred (name)
    SELECT s.claude_session_id || '/' || OLD.created_at_epoch || '/summary' FROM sdk_sessions AS s WHERE s.id = OLD.session_id AND s.author IS NOT NULL;
    -- Of another machine of one's own.
    INSERT INTO team_forgets (kind, name)
    SELECT 'summary', s.claude_session_id || '/' || OLD.created_at_epoch || '/summary' FROM sdk_sessions AS s
    WHERE s.id = OLD.session_id AND s.author = (SELECT value FROM team_state WHERE name = 'member');
END;

CREATE TRIGGER team_prompt_added AFTER INSERT ON user_prompts
WHEN NEW.prompt IS NOT NULL AND NEW.private = 0
    AND NEW.session_id IN (SELECT id FROM team_sessions WHERE prompts = 1)
BEGIN
    INSERT INTO team_outbox (kind, memory_id) VALUES ('prompt', NEW.id)
    ON CONFLICT (kind, memory_id) DO UPDATE SET changes = changes + 1, not_before_epoch = 0;
END;

CREATE TRIGGER team_prompt_forgotten AFTER DELETE ON user_prompts
BEGIN
    INSERT INTO team_forgets (kind, name)
    SELECT kind, name FROM team_sent WHERE kind = 'prompt' AND memory_id = OLD.id;
    DELETE FROM team_sent WHERE kind = 'prompt' AND memory_id = OLD.id;
    DELETE FROM team_outbox WHERE kind = 'prompt' AND memory_id = OLD.id;
    INSERT OR IGNORE INTO team_barred (name)
    SELECT s.claude_session_id || '/' || OLD.prompt_number || '/prompt' FROM sdk_sessions AS s WHERE s.id = OLD.session_id AND s.author IS NOT NULL;
    -- Of another machine of one's own.
    INSERT INTO team_forgets (kind, name)
    SELECT 'prompt', s.claude_session_id || '/' || OLD.prompt_number || '/prompt' FROM sdk_sessions AS s
    WHERE s.id = OLD.session_id AND s.author = (SELECT value FROM team_state WHERE name = 'member');
END;

CREATE TRIGGER team_session_forgotten AFTER DELETE ON sdk_sessions
BEGIN
    INSERT INTO team_forgets (kind, name)
    SELECT kind, name FROM team_sent WHERE kind = 'session' AND memory_id = OLD.id;
    DELETE FROM team_sent WHERE kind = 'session' AND memory_id = OLD.id;
END;
