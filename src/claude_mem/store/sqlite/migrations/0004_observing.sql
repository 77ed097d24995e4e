-- What observing needs: the size of what waits, who holds it, what it cost, and how memories relate.

ALTER TABLE pending_messages ADD COLUMN characters INTEGER NOT NULL DEFAULT 0;
ALTER TABLE pending_messages ADD COLUMN lease_number INTEGER NOT NULL DEFAULT 0;

UPDATE pending_messages
SET characters = LENGTH(COALESCE(tool_input, '')) + LENGTH(COALESCE(tool_response, '')) + LENGTH(COALESCE(text, ''))
    + COALESCE((SELECT LENGTH(u.prompt) FROM user_prompts AS u
                WHERE pending_messages.kind = 'prompt' AND u.session_id = pending_messages.session_id
                  AND u.prompt_number = pending_messages.prompt_number), 0);

-- All that is asked about waiting jobs is in the index: their rows are long, and some hold whole files.
DROP INDEX pending_messages_unsettled;
CREATE INDEX pending_messages_unsettled
    ON pending_messages (session_id, state, id, not_before_epoch, kind, characters, created_at_epoch)
    WHERE state <> 'done';

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

ALTER TABLE observations ADD COLUMN content_key TEXT;
ALTER TABLE observations ADD COLUMN provider TEXT;
ALTER TABLE observations ADD COLUMN superseded_by INTEGER REFERENCES observations(id) ON DELETE SET NULL;

CREATE INDEX observations_by_content ON observations (project, content_key, created_at_epoch)
    WHERE content_key IS NOT NULL;
CREATE INDEX observations_superseded ON observations (superseded_by) WHERE superseded_by IS NOT NULL;

UPDATE observations SET superseded_by = (
    SELECT newer.id FROM observations AS newer WHERE newer.supersedes = observations.id ORDER BY newer.id DESC LIMIT 1);

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
