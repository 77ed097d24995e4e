-- Where a summary's words come from, as observations say it. What was summarized before without any file having
-- been edited may be the words of something that was only read.
ALTER TABLE session_summaries ADD COLUMN source TEXT NOT NULL DEFAULT 'work' CHECK (source IN ('work', 'external', 'user'));
UPDATE session_summaries SET source = 'external' WHERE files_edited = '[]' AND files_read <> '[]';
