-- Whose session it is, and what is shared with a team: see schema.sql.
ALTER TABLE sdk_sessions ADD COLUMN author TEXT;

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
    reason           TEXT,                       -- why it waits; NULL: it does not
    PRIMARY KEY (kind, memory_id)
) WITHOUT ROWID;

CREATE INDEX team_outbox_due ON team_outbox (not_before_epoch);

-- What the server has of this machine, by the name it has there.
CREATE TABLE team_sent (
    kind      TEXT NOT NULL CHECK (kind IN ('session', 'observation', 'summary', 'prompt')),
    memory_id INTEGER NOT NULL,
    name      TEXT NOT NULL,
    PRIMARY KEY (kind, memory_id)
) WITHOUT ROWID;

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

-- Pinned for the team. Other pins stay on this machine.
CREATE TABLE team_pins (
    observation_id INTEGER PRIMARY KEY REFERENCES observations(id) ON DELETE CASCADE
);

-- How far the last pull came, and how the last exchange went.
CREATE TABLE team_state (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TRIGGER team_observation_added AFTER INSERT ON observations
WHEN NEW.project_id IN (SELECT project_id FROM team_projects)
    AND (SELECT author FROM sdk_sessions WHERE id = NEW.session_id) IS NULL
BEGIN
    INSERT INTO team_outbox (kind, memory_id) VALUES ('observation', NEW.id)
    ON CONFLICT (kind, memory_id) DO UPDATE SET changes = changes + 1, not_before_epoch = 0;
END;

CREATE TRIGGER team_observation_changed AFTER UPDATE ON observations
WHEN NEW.project_id IN (SELECT project_id FROM team_projects)
    AND (SELECT author FROM sdk_sessions WHERE id = NEW.session_id) IS NULL
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
END;

CREATE TRIGGER team_pin_added AFTER INSERT ON team_pins
WHEN (SELECT project_id FROM observations WHERE id = NEW.observation_id) IN (SELECT project_id FROM team_projects)
BEGIN
    INSERT INTO team_outbox (kind, memory_id) VALUES ('observation', NEW.observation_id)
    ON CONFLICT (kind, memory_id) DO UPDATE SET changes = changes + 1, not_before_epoch = 0;
END;

CREATE TRIGGER team_pin_removed AFTER DELETE ON team_pins
WHEN (SELECT project_id FROM observations WHERE id = OLD.observation_id) IN (SELECT project_id FROM team_projects)
BEGIN
    INSERT INTO team_outbox (kind, memory_id) VALUES ('observation', OLD.observation_id)
    ON CONFLICT (kind, memory_id) DO UPDATE SET changes = changes + 1, not_before_epoch = 0;
END;

CREATE TRIGGER team_summary_added AFTER INSERT ON session_summaries
WHEN (SELECT author IS NULL AND project_id IN (SELECT project_id FROM team_projects)
      FROM sdk_sessions WHERE id = NEW.session_id)
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
END;

CREATE TRIGGER team_prompt_added AFTER INSERT ON user_prompts
WHEN NEW.prompt IS NOT NULL AND NEW.private = 0
    AND (SELECT author IS NULL AND project_id IN (SELECT project_id FROM team_projects WHERE prompts = 1)
         FROM sdk_sessions WHERE id = NEW.session_id)
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
END;

CREATE TRIGGER team_session_forgotten AFTER DELETE ON sdk_sessions
BEGIN
    INSERT INTO team_forgets (kind, name)
    SELECT kind, name FROM team_sent WHERE kind = 'session' AND memory_id = OLD.id;
    DELETE FROM team_sent WHERE kind = 'session' AND memory_id = OLD.id;
END;
