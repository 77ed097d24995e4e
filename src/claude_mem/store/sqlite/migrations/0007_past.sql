-- What happened before anybody listened: sessions that only their transcripts tell of.

ALTER TABLE sdk_sessions ADD COLUMN past INTEGER NOT NULL DEFAULT 0 CHECK (past IN (0, 1));
ALTER TABLE sdk_sessions ADD COLUMN seal TEXT;
ALTER TABLE sdk_sessions ADD COLUMN offline INTEGER NOT NULL DEFAULT 0 CHECK (offline IN (0, 1));
ALTER TABLE sdk_sessions ADD COLUMN held_until_epoch INTEGER NOT NULL DEFAULT 0;
