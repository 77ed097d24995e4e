-- The schema of a new database. A test proves it equal to all migrations in turn:
-- change both, and never a migration that was released.

-- Projects, sessions, prompts, and the durable queue of events.

CREATE TABLE projects (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    key              TEXT NOT NULL UNIQUE,      -- the normalised remote, else the root's path
    name             TEXT NOT NULL,             -- what people see
    root             TEXT NOT NULL,
    remote           TEXT,
    created_at       TEXT NOT NULL,
    created_at_epoch INTEGER NOT NULL,
    named            INTEGER NOT NULL DEFAULT 0 CHECK (named IN (0, 1)) -- 1: a person gave it its name
);

-- Keys of projects that were merged into another. They win over a project's own.
CREATE TABLE project_aliases (
    key        TEXT PRIMARY KEY,
    project_id INTEGER NOT NULL REFERENCES projects(id) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE INDEX project_aliases_by_project ON project_aliases (project_id);

-- Sessions that were forgotten, by a digest of their ids: a transcript of one is not taken in again.
CREATE TABLE forgotten_sessions (
    digest TEXT PRIMARY KEY
) WITHOUT ROWID;

CREATE TABLE sdk_sessions (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    claude_session_id  TEXT NOT NULL UNIQUE,    -- the client's own id: the source of truth
    sdk_session_id     TEXT UNIQUE,
    project            TEXT NOT NULL,
    project_id         INTEGER NOT NULL REFERENCES projects(id),
    title              TEXT,
    subtitle           TEXT,
    first_user_prompt  TEXT,
    prompt_counter     INTEGER NOT NULL DEFAULT 0,
    status             TEXT NOT NULL CHECK (status IN
                           ('initialized', 'active', 'summarizing', 'completed', 'failed', 'interrupted')),
    client             TEXT NOT NULL,
    cwd                TEXT,
    transcript_path    TEXT,
    branch             TEXT,
    commit_sha         TEXT,
    end_reason         TEXT,
    created_at         TEXT NOT NULL,           -- ISO 8601, UTC
    created_at_epoch   INTEGER NOT NULL,        -- milliseconds
    updated_at         TEXT NOT NULL,
    updated_at_epoch   INTEGER NOT NULL,
    completed_at       TEXT,
    completed_at_epoch INTEGER,
    past               INTEGER NOT NULL DEFAULT 0 CHECK (past IN (0, 1)), -- 1: only a transcript tells of it
    seal               TEXT,                    -- which state of the transcript was taken in whole
    offline            INTEGER NOT NULL DEFAULT 0 CHECK (offline IN (0, 1)), -- 1: no model is asked about it
    held_until_epoch   INTEGER NOT NULL DEFAULT 0, -- not observed before: more of the same is on its way
    author             TEXT                     -- the member of the team whose session it was; NULL: one's own
);

CREATE INDEX sdk_sessions_by_project ON sdk_sessions (project_id);
CREATE INDEX sdk_sessions_by_project_name ON sdk_sessions (project, created_at_epoch);
CREATE INDEX sdk_sessions_by_status ON sdk_sessions (status, updated_at_epoch);
CREATE INDEX sdk_sessions_by_activity ON sdk_sessions (updated_at_epoch);
CREATE INDEX sdk_sessions_by_author ON sdk_sessions (author, created_at_epoch) WHERE author IS NOT NULL;

CREATE TABLE user_prompts (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id       INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
    prompt_number    INTEGER NOT NULL,
    prompt           TEXT,                      -- NULL: the turn was private
    private          INTEGER NOT NULL DEFAULT 0 CHECK (private IN (0, 1)),
    prompt_id        TEXT,
    created_at       TEXT NOT NULL,
    created_at_epoch INTEGER NOT NULL,
    UNIQUE (session_id, prompt_number)
);

-- Every accepted event is exactly one row, and stays one: a second delivery meets its name here.
CREATE TABLE pending_messages (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id         TEXT NOT NULL UNIQUE,
    session_id       INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
    kind             TEXT NOT NULL,
    effect_key       TEXT NOT NULL,
    prompt_number    INTEGER NOT NULL,
    tool_name        TEXT,
    tool_use_id      TEXT,
    tool_input       TEXT,
    tool_response    TEXT,
    text             TEXT,                      -- a prompt's text is in user_prompts, not here
    note             TEXT,
    prompt_id        TEXT,
    agent_id         TEXT,
    agent_type       TEXT,
    cwd              TEXT,
    branch           TEXT,
    commit_sha       TEXT,
    private          INTEGER NOT NULL DEFAULT 0 CHECK (private IN (0, 1)),
    state            TEXT NOT NULL CHECK (state IN ('ready', 'leased', 'parked', 'done')),
    attempts         INTEGER NOT NULL DEFAULT 0,
    not_before_epoch INTEGER NOT NULL DEFAULT 0,
    reason           TEXT,
    created_at       TEXT NOT NULL,
    created_at_epoch INTEGER NOT NULL,
    settled_at_epoch INTEGER,
    characters       INTEGER NOT NULL DEFAULT 0, -- of all its texts, a prompt's included
    lease_number     INTEGER NOT NULL DEFAULT 0, -- of its last handing out: no two leases share one
    UNIQUE (session_id, effect_key)
);

CREATE INDEX pending_messages_by_state ON pending_messages (state);
-- All that is asked about waiting jobs is in the index: their rows are long, and some hold whole files.
CREATE INDEX pending_messages_unsettled
    ON pending_messages (session_id, state, id, not_before_epoch, kind, characters, created_at_epoch)
    WHERE state <> 'done';
CREATE INDEX pending_messages_ready_age ON pending_messages (created_at_epoch) WHERE state = 'ready';
-- Whether a session's turn has ended is looked up once for each session with waiting jobs.
CREATE INDEX pending_messages_stops ON pending_messages (session_id) WHERE kind = 'stop' AND state = 'ready';

-- Parked jobs of whose batch the offline observer has made memories, for the model's replies could not be read;
-- `number` is the batch. When the batch is observed after all, its result takes the place of those memories.
CREATE TABLE fallbacks (
    job_id INTEGER PRIMARY KEY REFERENCES pending_messages(id) ON DELETE CASCADE,
    number INTEGER NOT NULL
);

CREATE INDEX fallbacks_by_number ON fallbacks (number);

CREATE TABLE fallback_memories (
    number     INTEGER NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('observation', 'summary')),
    memory_id  INTEGER NOT NULL,
    session_id INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
    PRIMARY KEY (number, kind, memory_id)
) WITHOUT ROWID;

CREATE INDEX fallback_memories_by_session ON fallback_memories (session_id);

CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- How many jobs are in each state, kept by the triggers below: counting half a million rows takes too long.
CREATE TABLE queue_figures (
    state TEXT PRIMARY KEY,
    jobs  INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

INSERT INTO queue_figures (state) VALUES ('ready'), ('leased'), ('parked'), ('done');

-- Each session's next job, kept by the triggers below: finding the next session to work on must not walk
-- over all the jobs of those that are busy or waiting.
CREATE TABLE queue_heads (
    session_id       INTEGER PRIMARY KEY REFERENCES sdk_sessions(id) ON DELETE CASCADE,
    ready_id         INTEGER,                   -- its first ready job; NULL: none is ready
    not_before_epoch INTEGER,                   -- that job's
    leased           INTEGER NOT NULL DEFAULT 0 -- how many of its jobs are handed out
);

CREATE INDEX queue_heads_free ON queue_heads (ready_id, not_before_epoch)
    WHERE leased = 0 AND ready_id IS NOT NULL;

CREATE TRIGGER pending_messages_added AFTER INSERT ON pending_messages
BEGIN
    UPDATE queue_figures SET jobs = jobs + 1 WHERE state = NEW.state;
END;

CREATE TRIGGER pending_messages_added_ready AFTER INSERT ON pending_messages WHEN NEW.state = 'ready'
BEGIN
    INSERT INTO queue_heads (session_id, ready_id, not_before_epoch)
    VALUES (NEW.session_id, NEW.id, NEW.not_before_epoch)
    ON CONFLICT (session_id) DO UPDATE
        SET ready_id = excluded.ready_id, not_before_epoch = excluded.not_before_epoch
        WHERE ready_id IS NULL;
END;

CREATE TRIGGER pending_messages_moved AFTER UPDATE OF state, not_before_epoch ON pending_messages
BEGIN
    UPDATE queue_figures SET jobs = jobs - 1 WHERE state = OLD.state;
    UPDATE queue_figures SET jobs = jobs + 1 WHERE state = NEW.state;
    UPDATE queue_heads
    SET leased = leased + (NEW.state = 'leased') - (OLD.state = 'leased'),
        (ready_id, not_before_epoch) = (
            SELECT id, not_before_epoch FROM pending_messages
            WHERE session_id = NEW.session_id AND state = 'ready' AND state <> 'done' ORDER BY id LIMIT 1)
    WHERE session_id = NEW.session_id;
END;

CREATE TRIGGER pending_messages_removed AFTER DELETE ON pending_messages
BEGIN
    UPDATE queue_figures SET jobs = jobs - 1 WHERE state = OLD.state;
    UPDATE queue_heads
    SET leased = leased - (OLD.state = 'leased'),
        (ready_id, not_before_epoch) = (
            SELECT id, not_before_epoch FROM pending_messages
            WHERE session_id = OLD.session_id AND state = 'ready' AND state <> 'done' ORDER BY id LIMIT 1)
    WHERE session_id = OLD.session_id;
END;

-- What is worth remembering.

CREATE TABLE observations (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id       INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
    project          TEXT NOT NULL,
    type             TEXT NOT NULL CHECK (type IN
                         ('bugfix', 'feature', 'refactor', 'change', 'discovery', 'decision')),
    title            TEXT,
    subtitle         TEXT,
    narrative        TEXT,
    facts            TEXT NOT NULL DEFAULT '[]',  -- JSON arrays, this and the next three
    concepts         TEXT NOT NULL DEFAULT '[]',
    files_read       TEXT NOT NULL DEFAULT '[]',
    files_modified   TEXT NOT NULL DEFAULT '[]',
    text             TEXT,                        -- the older documents' one column
    prompt_number    INTEGER,
    client           TEXT,
    branch           TEXT,
    commit_sha       TEXT,
    tool_use_ids     TEXT NOT NULL DEFAULT '[]',  -- JSON array
    supersedes       INTEGER REFERENCES observations(id) ON DELETE SET NULL,
    created_at       TEXT NOT NULL,               -- when the work was done, not when it was understood
    created_at_epoch INTEGER NOT NULL,
    content_key      TEXT,                        -- the same for the same content; NULL: there is none
    provider         TEXT,                        -- who wrote it: offline, anthropic:claude-haiku-4-5, …
    superseded_by    INTEGER REFERENCES observations(id) ON DELETE SET NULL,
    project_id       INTEGER REFERENCES projects(id), -- its session's: whose memory it is; the name is for people
    pinned           INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    source           TEXT NOT NULL DEFAULT 'work' CHECK (source IN ('work', 'external', 'user')),
    wrong            INTEGER NOT NULL DEFAULT 0 CHECK (wrong IN (0, 1)), -- somebody says so: kept, and never recalled
    edited_at_epoch  INTEGER                      -- when a person last changed its words; NULL: nobody has
);

CREATE INDEX observations_by_time ON observations (created_at_epoch);
CREATE INDEX observations_by_session ON observations (session_id);
CREATE INDEX observations_superseding ON observations (supersedes) WHERE supersedes IS NOT NULL;
CREATE INDEX observations_superseded ON observations (superseded_by) WHERE superseded_by IS NOT NULL;
-- Only of what stands: that something was superseded a thousand times makes nothing slower to find.
CREATE INDEX observations_by_content ON observations (project_id, content_key, created_at_epoch)
    WHERE content_key IS NOT NULL AND superseded_by IS NULL;
CREATE INDEX observations_current ON observations (project_id, created_at_epoch) WHERE superseded_by IS NULL;
CREATE INDEX observations_pinned ON observations (project_id) WHERE pinned = 1;
CREATE INDEX observations_wrong ON observations (project_id) WHERE wrong = 1;
-- Lists go by time.
CREATE INDEX observations_by_project_id ON observations (project_id, created_at_epoch);
CREATE INDEX observations_by_type ON observations (type, project_id, created_at_epoch);
CREATE INDEX user_prompts_by_time ON user_prompts (created_at_epoch);

-- What was seen again and not stored twice.
CREATE TABLE observation_sightings (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    observation_id   INTEGER NOT NULL REFERENCES observations(id) ON DELETE CASCADE,
    session_id       INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
    prompt_number    INTEGER,
    created_at       TEXT NOT NULL,
    created_at_epoch INTEGER NOT NULL
);

CREATE INDEX observation_sightings_by_observation ON observation_sightings (observation_id);
CREATE INDEX observation_sightings_by_session ON observation_sightings (session_id);

CREATE TABLE session_summaries (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id       INTEGER NOT NULL REFERENCES sdk_sessions(id) ON DELETE CASCADE,
    project          TEXT NOT NULL,
    request          TEXT,
    investigated     TEXT,
    learned          TEXT,
    completed        TEXT,
    next_steps       TEXT,
    files_read       TEXT NOT NULL DEFAULT '[]',  -- JSON array
    files_edited     TEXT NOT NULL DEFAULT '[]',  -- JSON array
    notes            TEXT,
    prompt_number    INTEGER,
    created_at       TEXT NOT NULL,
    created_at_epoch INTEGER NOT NULL,
    source           TEXT NOT NULL DEFAULT 'work' CHECK (source IN ('work', 'external', 'user'))
);

CREATE INDEX session_summaries_by_project ON session_summaries (project, created_at_epoch);
CREATE INDEX session_summaries_by_time ON session_summaries (created_at_epoch);
CREATE INDEX session_summaries_by_session ON session_summaries (session_id);

-- What asking cost, one row a call: kept when its session is forgotten, for the money is gone all the same.

CREATE TABLE spending (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id       INTEGER REFERENCES sdk_sessions(id) ON DELETE SET NULL,
    project          TEXT NOT NULL,
    provider         TEXT NOT NULL,
    model            TEXT NOT NULL,
    input_tokens     INTEGER NOT NULL,
    cached_tokens    INTEGER NOT NULL,            -- read from the provider's cache; not part of input_tokens
    output_tokens    INTEGER NOT NULL,
    cost_usd         REAL,                        -- NULL: not known
    created_at       TEXT NOT NULL,               -- when it was settled
    created_at_epoch INTEGER NOT NULL
);

CREATE INDEX spending_by_time ON spending (created_at_epoch);
CREATE INDEX spending_by_session ON spending (session_id);

-- From here to `derived`, all is made of the rows above and can be made again.

-- The words of memories, with identifiers and paths told apart (see model/full_text.py). Its rowid is a memory's key.
CREATE VIRTUAL TABLE memory_text USING fts5(
    title, body, names, tool, content='', tokenize='porter unicode61 remove_diacritics 2'
);

-- Which memory is about which file.
CREATE TABLE memory_files (
    base       TEXT NOT NULL,                   -- the last part of the path, in lower case
    memory_key INTEGER NOT NULL,
    path       TEXT NOT NULL,
    folder     TEXT NOT NULL,                   -- the rest of it, in lower case
    how        TEXT NOT NULL CHECK (how IN ('modified', 'read', 'named')),
    PRIMARY KEY (base, memory_key, path)
) WITHOUT ROWID;

CREATE INDEX memory_files_by_key ON memory_files (memory_key);
CREATE INDEX memory_files_by_folder ON memory_files (folder, memory_key);

CREATE TABLE memory_vectors (
    memory_key INTEGER PRIMARY KEY,
    vector     BLOB NOT NULL                    -- of the model that `derived` names
);

-- How far the indexes are, and of what they are made.
CREATE TABLE derived (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- What was injected into sessions, so that its use can be measured. This may happen before a session is known.
CREATE TABLE injections (
    id                INTEGER PRIMARY KEY AUTOINCREMENT,
    claude_session_id TEXT NOT NULL,
    event             TEXT NOT NULL,            -- the hook's: SessionStart, UserPromptSubmit, PreToolUse
    refs              TEXT NOT NULL,            -- JSON array: 12, s3, …
    about             TEXT,                     -- the file, for PreToolUse
    tokens            INTEGER NOT NULL,
    created_at        TEXT NOT NULL,
    created_at_epoch  INTEGER NOT NULL
);

CREATE INDEX injections_by_session ON injections (claude_session_id, created_at_epoch);
CREATE INDEX injections_by_time ON injections (created_at_epoch);

-- What the files in context/ hold: a hook that shows one without a worker says which.
CREATE TABLE renderings (
    stamp            TEXT PRIMARY KEY,
    refs             TEXT NOT NULL,             -- JSON array
    tokens           INTEGER NOT NULL,
    created_at_epoch INTEGER NOT NULL
) WITHOUT ROWID;

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
    id     TEXT PRIMARY KEY,
    answer TEXT NOT NULL DEFAULT 'done'           -- or consent: it waits for the user's; or refused
) WITHOUT ROWID;

-- Forgets that would delete much of one's own: they wait for the user's consent.
CREATE TABLE team_held_forgets (
    id         TEXT PRIMARY KEY,
    kind       TEXT NOT NULL,
    digest     TEXT NOT NULL,
    at         INTEGER NOT NULL,
    member     TEXT NOT NULL,                     -- who asks for it
    project_id INTEGER NOT NULL,
    memories   INTEGER NOT NULL                   -- how many of one's own it would delete
) WITHOUT ROWID;

-- How many of one's own memories forgets from elsewhere have deleted without it.
CREATE TABLE team_losses (
    project_id INTEGER NOT NULL,
    at_epoch   INTEGER NOT NULL,
    memories   INTEGER NOT NULL
);

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

-- The documents' older names, to be read only: what a person types from them still answers.

CREATE VIEW streaming_sessions AS
SELECT id,
       claude_session_id,
       sdk_session_id,
       project,
       title,
       subtitle,
       first_user_prompt AS user_prompt,
       created_at AS started_at,
       created_at_epoch AS started_at_epoch,
       updated_at,
       updated_at_epoch,
       completed_at,
       completed_at_epoch,
       CASE status  -- that document knew three states
           WHEN 'completed' THEN 'completed'
           WHEN 'failed' THEN 'failed'
           WHEN 'interrupted' THEN 'failed'
           ELSE 'active'
       END AS status
FROM sdk_sessions;

CREATE VIEW observation_queue AS
SELECT p.id AS id,
       COALESCE(s.sdk_session_id, s.claude_session_id) AS sdk_session_id,
       CASE p.kind WHEN 'stop' THEN 'FINALIZE' ELSE p.tool_name END AS tool_name,
       COALESCE(p.tool_input, '{}') AS tool_input,
       COALESCE(p.tool_response, '{}') AS tool_output,
       p.created_at_epoch AS created_at_epoch,
       p.settled_at_epoch AS processed_at_epoch
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.kind = 'stop' OR p.tool_name IS NOT NULL;
