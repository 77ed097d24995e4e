-- The statements of secure_delete.py. `-- name: x` opens one; the next line says what it is for.

-- name: merge_words
-- Rewrite some pages of the index; negative: and begin to make it one piece, in which no deleted word is left.
INSERT INTO memory_text (memory_text, rank) VALUES ('merge', :pages);
