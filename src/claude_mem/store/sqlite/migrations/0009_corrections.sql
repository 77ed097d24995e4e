-- What a person has said about a memory: that it is wrong, or the same in better words.

ALTER TABLE observations ADD COLUMN wrong INTEGER NOT NULL DEFAULT 0 CHECK (wrong IN (0, 1));
ALTER TABLE observations ADD COLUMN edited_at_epoch INTEGER;
