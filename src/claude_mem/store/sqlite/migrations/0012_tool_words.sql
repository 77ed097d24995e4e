-- What tools were given and printed is told apart from what was said: a column of its own. The index is made anew.
DROP TABLE memory_text;

-- The words of memories, with identifiers and paths told apart (see model/full_text.py). Its rowid is a memory's key.
CREATE VIRTUAL TABLE memory_text USING fts5(
    title, body, names, tool, content='', tokenize='porter unicode61 remove_diacritics 2'
);
