-- Finding what is remembered, and knowing what was told to whom.

ALTER TABLE observations ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1));
ALTER TABLE observations ADD COLUMN source TEXT NOT NULL DEFAULT 'work' CHECK (source IN ('work', 'external', 'user'));

CREATE INDEX observations_pinned ON observations (project_id) WHERE pinned = 1;
-- Lists go by time.
CREATE INDEX observations_by_project_id ON observations (project_id, created_at_epoch);
CREATE INDEX session_summaries_by_time ON session_summaries (created_at_epoch);
CREATE INDEX user_prompts_by_time ON user_prompts (created_at_epoch);

-- From here to `derived`, all is made of the rows above and can be made again.

-- The words of memories, with identifiers and paths told apart (see model/full_text.py). Its rowid is a memory's spot.
CREATE VIRTUAL TABLE memory_text USING fts5(
    title, body, names, content='', tokenize='porter unicode61 remove_diacritics 2'
);

-- Which memory is about which file.
CREATE TABLE memory_files (
    base   TEXT NOT NULL,                       -- the last part of the path, in lower case
    spot   INTEGER NOT NULL,
    path   TEXT NOT NULL,
    folder TEXT NOT NULL,                       -- the rest of it, in lower case
    how    TEXT NOT NULL CHECK (how IN ('modified', 'read', 'named')),
    PRIMARY KEY (base, spot, path)
) WITHOUT ROWID;

CREATE INDEX memory_files_by_spot ON memory_files (spot);
CREATE INDEX memory_files_by_folder ON memory_files (folder, spot);

CREATE TABLE memory_vectors (
    spot   INTEGER PRIMARY KEY,
    vector BLOB NOT NULL                        -- of the model that `derived` names
);

-- How far the indexes are, and of what they are made.
CREATE TABLE derived (
    name  TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;

-- What sessions were told, so that its use can be measured. A session may be told something before it is known.
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
