-- A batch whose replies cannot be read is remembered by the offline observer until it is observed after all.
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
