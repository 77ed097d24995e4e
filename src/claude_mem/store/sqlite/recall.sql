-- What recall reads: the full-text index, cards, lists, and how far the indexes are.
-- Each statement has a name and a purpose.

-- name: derived
-- What is known of the indexes, by name.
SELECT value FROM derived WHERE name = :name;

-- name: set_derived
-- Note something about the indexes.
INSERT INTO derived (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: unindexed_observation
-- Observations past a mark, with all the words they are found by.
SELECT o.id, o.session_id, o.project_id, o.title, o.subtitle, o.narrative, o.facts, o.concepts, o.files_read, o.files_modified,
       o.text, s.cwd
FROM observations AS o
JOIN sdk_sessions AS s ON s.id = o.session_id
WHERE o.id > :after AND o.id <= :upto AND o.project_id IS NOT NULL ORDER BY o.id LIMIT :limit;

-- name: unindexed_summary
-- Summaries past a mark.
SELECT y.id, y.session_id, s.project_id, y.request, y.investigated, y.learned, y.completed, y.next_steps, y.notes,
       y.files_read, y.files_edited, s.cwd
FROM session_summaries AS y
JOIN sdk_sessions AS s ON s.id = y.session_id
WHERE y.id > :after AND y.id <= :upto ORDER BY y.id LIMIT :limit;

-- name: unindexed_prompt
-- Prompts past a mark; private ones hold nothing.
SELECT u.id, u.session_id, s.project_id, u.prompt, s.cwd
FROM user_prompts AS u
JOIN sdk_sessions AS s ON s.id = u.session_id
WHERE u.id > :after AND u.id <= :upto AND u.prompt IS NOT NULL ORDER BY u.id LIMIT :limit;

-- name: unindexed_evidence
-- Events past a mark that say something; a prompt's words are indexed as a prompt.
SELECT p.id, p.session_id, s.project_id, p.kind, p.tool_name, p.tool_input, p.tool_response, p.text, COALESCE(p.cwd, s.cwd) AS cwd
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.id > :after AND p.id <= :upto AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL)
ORDER BY p.id LIMIT :limit;

-- name: last_observation
-- The newest observation's id.
SELECT COALESCE(MAX(id), 0) FROM observations;

-- name: last_summary
-- The newest summary's id.
SELECT COALESCE(MAX(id), 0) FROM session_summaries;

-- name: last_prompt
-- The newest prompt's id.
SELECT COALESCE(MAX(id), 0) FROM user_prompts;

-- name: last_evidence
-- The newest event's id.
SELECT COALESCE(MAX(id), 0) FROM pending_messages;

-- name: add_words
-- A memory's words.
INSERT INTO memory_text (rowid, title, body, names) VALUES (:spot, :title, :body, :names);

-- name: remove_words
-- Exactly the words that were added: the index keeps no copy to look them up in.
INSERT INTO memory_text (memory_text, rowid, title, body, names) VALUES ('delete', :spot, :title, :body, :names);

-- name: add_file
-- A memory is about a file.
INSERT INTO memory_files (base, spot, path, folder, how) VALUES (:base, :spot, :path, :folder, :how);

-- name: files_of
-- The files a memory is about.
SELECT path, how FROM memory_files WHERE spot = :spot;

-- name: remove_files
-- A memory is about no file any more.
DELETE FROM memory_files WHERE spot = :spot;

-- name: clear_words
-- The whole index is to be made again.
INSERT INTO memory_text (memory_text) VALUES ('delete-all');

-- name: clear_files
-- The same, of the files.
DELETE FROM memory_files;

-- name: how_often
-- In how many memories of a span an expression matches, counted no further than needed.
SELECT COUNT(*) FROM (
    SELECT 1 FROM memory_text WHERE memory_text MATCH :expression AND rowid BETWEEN :first AND :last LIMIT :most
);

-- name: weighed_matches
-- All matches of an expression in a span, and how good each is: a title's words count most.
SELECT rowid, -bm25(memory_text, 2.0, 1.0, 0.5) FROM memory_text
WHERE memory_text MATCH :expression AND rowid BETWEEN :first AND :last;

-- name: matches
-- All matches of an expression in a span.
SELECT rowid FROM memory_text WHERE memory_text MATCH :expression AND rowid BETWEEN :first AND :last;

-- name: newest_matches
-- The newest matches of an expression too frequent to be weighed.
SELECT rowid FROM memory_text
WHERE memory_text MATCH :expression AND rowid BETWEEN :first AND :last
ORDER BY rowid DESC LIMIT :limit;

-- name: averages
-- How many memories the index has, and how long they are: a record of its own that changes with each of them.
SELECT block FROM memory_text_data WHERE id = 1;

-- name: size_of_span
-- How many memories a span of the index has.
SELECT COUNT(*) FROM memory_text_docsize WHERE id BETWEEN :first AND :last;

-- name: observation_cards
-- Observations as cards.
SELECT o.*, s.claude_session_id,
       (SELECT COUNT(*) FROM observation_sightings AS g WHERE g.observation_id = o.id) AS seen_again
FROM observations AS o
JOIN sdk_sessions AS s ON s.id = o.session_id
WHERE o.id IN (SELECT value FROM json_each(:ids));

-- name: summary_cards
-- Summaries as cards.
SELECT y.*, s.claude_session_id, s.project_id, s.client, s.branch, s.commit_sha
FROM session_summaries AS y
JOIN sdk_sessions AS s ON s.id = y.session_id
WHERE y.id IN (SELECT value FROM json_each(:ids));

-- name: prompt_cards
-- Prompts as cards.
SELECT u.*, s.claude_session_id, s.project, s.project_id, s.client, s.branch, s.commit_sha
FROM user_prompts AS u
JOIN sdk_sessions AS s ON s.id = u.session_id
WHERE u.id IN (SELECT value FROM json_each(:ids)) AND u.prompt IS NOT NULL;

-- name: evidence_cards
-- Events as cards, with as much of their words as a list can show.
SELECT p.id, p.session_id, p.kind, p.prompt_number, p.tool_name, p.cwd, p.branch, p.commit_sha,
       SUBSTR(p.tool_input, 1, 2000) AS tool_input, SUBSTR(p.tool_response, 1, 2000) AS tool_response,
       SUBSTR(p.text, 1, 4000) AS text, p.created_at, p.created_at_epoch,
       s.claude_session_id, s.project, s.project_id, s.client
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.id IN (SELECT value FROM json_each(:ids)) AND p.private = 0;

-- name: list_observation
-- Observations, to be narrowed by the conditions below and ordered by time.
SELECT m.id, m.created_at_epoch FROM observations AS m;

-- name: list_summary
-- Summaries, likewise.
SELECT m.id, m.created_at_epoch FROM session_summaries AS m CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: list_prompt
-- Prompts, likewise; private ones hold nothing.
SELECT m.id, m.created_at_epoch FROM user_prompts AS m CROSS JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.prompt IS NOT NULL;

-- name: list_evidence
-- Events that say something, likewise.
SELECT m.id, m.created_at_epoch FROM pending_messages AS m CROSS JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.private = 0 AND (m.tool_name IS NOT NULL OR m.text IS NOT NULL);

-- name: spots_observation
-- Where observations lie in the indexes, to be narrowed in the same way.
SELECT m.id, m.session_id, m.project_id FROM observations AS m;

-- name: spots_summary
-- Likewise, of summaries; from the sessions on where those are narrowed.
SELECT m.id, m.session_id, s.project_id FROM session_summaries AS m JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: spots_prompt
-- Likewise, of prompts.
SELECT m.id, m.session_id, s.project_id FROM user_prompts AS m JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.prompt IS NOT NULL;

-- name: spots_evidence
-- Likewise, of events that say something.
SELECT m.id, m.session_id, s.project_id FROM pending_messages AS m JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.private = 0 AND (m.tool_name IS NOT NULL OR m.text IS NOT NULL);

-- name: count_observation
-- How many such a list has.
SELECT COUNT(*) FROM observations AS m;

-- name: count_summary
-- Likewise.
SELECT COUNT(*) FROM session_summaries AS m CROSS JOIN sdk_sessions AS s ON s.id = m.session_id;

-- name: count_prompt
-- Likewise.
SELECT COUNT(*) FROM user_prompts AS m CROSS JOIN sdk_sessions AS s ON s.id = m.session_id AND m.prompt IS NOT NULL;

-- name: count_evidence
-- Likewise.
SELECT COUNT(*) FROM pending_messages AS m CROSS JOIN sdk_sessions AS s
    ON s.id = m.session_id AND m.private = 0 AND (m.tool_name IS NOT NULL OR m.text IS NOT NULL);

-- name: files_named
-- Memories of files of one name, the newest of each kind and project first.
SELECT spot, path, how FROM memory_files
WHERE base = :base AND spot BETWEEN :first AND :last ORDER BY spot DESC LIMIT :limit;

-- name: files_under
-- Memories of files in a folder and below it.
SELECT spot, path FROM memory_files
WHERE folder >= :folder AND folder < :folder || '0' AND (folder = :folder OR folder LIKE :folder || '/%')
  AND spot BETWEEN :first AND :last
LIMIT :limit;

-- name: project_by_key
-- A project by its key, which only one has, or by one of a project that was merged into it.
SELECT id, key, name, root FROM projects
WHERE id = COALESCE((SELECT project_id FROM project_aliases WHERE key = :given),
                    (SELECT p.id FROM projects AS p WHERE p.key = :given));

-- name: live_project_by_key
-- The same, if it has sessions.
SELECT p.id, p.key, p.name, p.root FROM projects AS p
WHERE p.id = COALESCE((SELECT project_id FROM project_aliases WHERE key = :given),
                      (SELECT o.id FROM projects AS o WHERE o.key = :given))
  AND EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id);

-- name: projects_by_name
-- Projects by the name people see; the one last worked in first. What strangers did somewhere is no work here.
SELECT p.id, p.key, p.name, p.root FROM projects AS p
WHERE p.name = :given AND EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id)
ORDER BY (SELECT MAX(s.updated_at_epoch) FROM sdk_sessions AS s WHERE s.project_id = p.id AND s.client <> 'import') DESC;

-- name: projects_with_figures
-- All projects that have sessions, the one last worked in first.
SELECT p.id, p.key, p.name, p.root, COUNT(s.id) AS sessions, MAX(s.updated_at_epoch) AS last_at,
       (SELECT COUNT(*) FROM observations AS o WHERE o.project_id = p.id) AS observations
FROM projects AS p
CROSS JOIN sdk_sessions AS s ON s.project_id = p.id
GROUP BY p.id ORDER BY last_at DESC, p.id LIMIT :limit OFFSET :offset;

-- name: count_sessions
-- How many such a list has.
SELECT COUNT(*) FROM sdk_sessions AS m;

-- name: list_session
-- Sessions, to be narrowed by the conditions and ordered by when something last happened.
SELECT m.id FROM sdk_sessions AS m;

-- name: sessions_shown
-- Sessions with what is in them.
SELECT s.id, s.claude_session_id, s.project, s.project_id, s.title, s.subtitle, s.status, s.client, s.branch,
       s.cwd, s.first_user_prompt, s.prompt_counter, s.created_at, s.created_at_epoch, s.updated_at,
       s.updated_at_epoch, s.completed_at,
       (SELECT COUNT(*) FROM observations AS o WHERE o.session_id = s.id) AS observations,
       (SELECT COUNT(*) FROM session_summaries AS y WHERE y.session_id = s.id) AS summaries
FROM sdk_sessions AS s
WHERE s.id IN (SELECT value FROM json_each(:ids)) ORDER BY s.updated_at_epoch DESC, s.id DESC;

-- name: session_named
-- A session by the database's id, the client's own, or the beginning of that; an exact one first.
SELECT id FROM (
    SELECT id, 1 AS place FROM sdk_sessions WHERE claude_session_id = :given
    UNION ALL
    SELECT id, 2 FROM sdk_sessions WHERE id = CAST(:given AS INTEGER) AND CAST(id AS TEXT) = :given
    UNION ALL
    SELECT id, 3 FROM sdk_sessions
    WHERE LENGTH(:given) >= 4 AND claude_session_id >= :given AND claude_session_id < :given || X'F48FBFBF'
) ORDER BY place, id DESC LIMIT 1;

-- name: session_before
-- The project's session before another one.
SELECT p.id FROM sdk_sessions AS s
JOIN sdk_sessions AS p ON p.project_id = s.project_id AND (p.created_at_epoch, p.id) < (s.created_at_epoch, s.id)
WHERE s.id = :id ORDER BY p.created_at_epoch DESC, p.id DESC LIMIT 1;

-- name: session_after
-- The project's session after another one.
SELECT n.id FROM sdk_sessions AS s
JOIN sdk_sessions AS n ON n.project_id = s.project_id AND (n.created_at_epoch, n.id) > (s.created_at_epoch, s.id)
WHERE s.id = :id ORDER BY n.created_at_epoch, n.id LIMIT 1;

-- name: last_summaries
-- The newest summary of each of a project's own last sessions (what strangers left open is not ours), but for one of them.
-- One that tells of something done, learned or left open goes before a newer one: many a session ends with thanks.
SELECT id FROM (
    SELECT y.id, y.created_at_epoch, ROW_NUMBER() OVER (
        PARTITION BY y.session_id
        ORDER BY COALESCE(y.completed, y.learned, y.next_steps) IS NULL, y.created_at_epoch DESC, y.id DESC
    ) AS place
    FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id
    WHERE s.id IN (SELECT id FROM sdk_sessions WHERE project_id = :project_id AND client <> 'import'
                   ORDER BY updated_at_epoch DESC LIMIT :sessions)
      AND s.claude_session_id <> :but_for
)
WHERE place = 1 ORDER BY created_at_epoch DESC, id DESC LIMIT :limit;

-- name: project_figures
-- How much of a project is remembered.
SELECT (SELECT COUNT(*) FROM sdk_sessions AS s WHERE s.project_id = :project_id
        AND (s.prompt_counter > 0 OR EXISTS (SELECT 1 FROM observations WHERE session_id = s.id))) AS sessions,
       (SELECT COUNT(*) FROM observations WHERE project_id = :project_id) AS observations;

-- name: working_directories
-- Where a project's last sessions worked.
SELECT cwd FROM sdk_sessions WHERE project_id = :project_id AND cwd IS NOT NULL
GROUP BY cwd ORDER BY MAX(updated_at_epoch) DESC LIMIT :limit;

-- name: last_session
-- The newest session's id.
SELECT COALESCE(MAX(id), 0) FROM sdk_sessions;

-- name: projects_with_news
-- Projects that have more to tell, or to tell it elsewhere, than some marks say.
SELECT project_id FROM observations WHERE id > :observation AND project_id IS NOT NULL
UNION
SELECT s.project_id FROM session_summaries AS y JOIN sdk_sessions AS s ON s.id = y.session_id WHERE y.id > :summary
UNION
SELECT project_id FROM sdk_sessions WHERE id > :session;

-- name: compacted_since
-- Sessions of which a compaction was reported past a mark; one of long ago has nobody left to tell.
SELECT DISTINCT s.project_id, s.claude_session_id
FROM pending_messages AS p
JOIN sdk_sessions AS s ON s.id = p.session_id
WHERE p.id > :after AND p.kind IN ('pre_compact', 'post_compact') AND s.past = 0;

-- name: memory_figures
-- How much is remembered in all.
SELECT (SELECT COUNT(*) FROM projects AS p WHERE EXISTS (SELECT 1 FROM sdk_sessions AS s WHERE s.project_id = p.id)) AS projects,
       (SELECT COUNT(*) FROM sdk_sessions) AS sessions,
       (SELECT COUNT(*) FROM user_prompts) AS prompts, (SELECT COUNT(*) FROM observations) AS observations,
       (SELECT COUNT(*) FROM session_summaries) AS summaries;

-- name: injection_figures
-- How often and how much sessions were told, by occasion.
SELECT event, COUNT(*) AS times, SUM(tokens) AS tokens FROM injections GROUP BY event ORDER BY event;

-- name: injections_after
-- What sessions were told after some row, by occasion, and up to which row that is.
SELECT event, COUNT(*) AS times, SUM(tokens) AS tokens, MAX(id) AS upto
FROM injections WHERE id > :after GROUP BY event;

-- name: project_by_id
-- A project by the database's id.
SELECT id, key, name, root, named FROM projects WHERE id = :id;

-- name: count_of_session
-- How much of each kind a session has that says something.
SELECT (SELECT COUNT(*) FROM observations AS o WHERE o.session_id = s.id) AS observation,
       (SELECT COUNT(*) FROM session_summaries AS y WHERE y.session_id = s.id) AS summary,
       (SELECT COUNT(*) FROM user_prompts AS u WHERE u.session_id = s.id AND u.prompt IS NOT NULL) AS prompt,
       (SELECT COUNT(*) FROM pending_messages AS p
        WHERE p.session_id = s.id AND (p.tool_name IS NOT NULL OR p.text IS NOT NULL)) AS evidence
FROM (SELECT (SELECT id FROM sdk_sessions WHERE claude_session_id = :session) AS id) AS s;

-- name: last_compaction
-- When a session was last compacted.
SELECT MAX(p.created_at_epoch) FROM pending_messages AS p
WHERE p.session_id = (SELECT id FROM sdk_sessions WHERE claude_session_id = :session)
  AND p.kind IN ('pre_compact', 'post_compact');
