-- A forget that would delete much of one's own memory waits for the user's consent: see schema.sql.
ALTER TABLE team_acknowledgements ADD COLUMN answer TEXT NOT NULL DEFAULT 'done';

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
