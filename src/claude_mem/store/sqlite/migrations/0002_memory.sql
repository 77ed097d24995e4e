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
    created_at_epoch INTEGER NOT NULL
);

CREATE INDEX observations_by_project ON observations (project, created_at_epoch);
CREATE INDEX observations_by_time ON observations (created_at_epoch);
CREATE INDEX observations_by_session ON observations (session_id);
CREATE INDEX observations_superseding ON observations (supersedes) WHERE supersedes IS NOT NULL;

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
    created_at_epoch INTEGER NOT NULL
);

CREATE INDEX session_summaries_by_project ON session_summaries (project, created_at_epoch);
CREATE INDEX session_summaries_by_session ON session_summaries (session_id);
