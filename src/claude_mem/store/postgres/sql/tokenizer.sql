-- The statements of tokenizer.py, which SQLite runs, in memory. `-- name: x` opens one; the next line says what it is for.

-- name: make_tokens
-- As SQLite's store has it.
CREATE VIRTUAL TABLE memory_text USING fts5(
    title, body, names, tool, content='', tokenize='porter unicode61 remove_diacritics 2'
);

-- name: make_vocabulary
-- What it has made of the texts.
CREATE VIRTUAL TABLE vocabulary USING fts5vocab(memory_text, 'instance');

-- name: add_text
-- A text to be told apart.
INSERT INTO memory_text (rowid, title, body, names, tool) VALUES (?, ?, ?, ?, ?);

-- name: found_tokens
-- Each word of each text, and where it stands.
SELECT term, doc, col, offset FROM vocabulary;

-- name: clear_tokens
-- Ready for the next.
INSERT INTO memory_text (memory_text) VALUES ('delete-all');
