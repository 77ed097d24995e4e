-- A machine's user may have to consent to a forget, and may refuse it.
ALTER TABLE team_acknowledgements ADD COLUMN answer text COLLATE "C" CHECK (answer IN ('consent', 'refused'));

-- By which machines know this team again, wherever it moves.
CREATE TABLE team_server (
    id text COLLATE "C" PRIMARY KEY DEFAULT CAST(gen_random_uuid() AS text)
);
INSERT INTO team_server DEFAULT VALUES;
