-- Parts of statements: what narrows and orders the lists of memory_filters.sql and sessions.sql. Each has a name and a purpose.
-- A filter's condition is where_FILTER; where_FILTER_KIND is the one for a kind of memory, or for sessions, whose rows say it
-- elsewhere. m is the memory's row, s its session's.

-- name: where_project_id
-- Of one project.
s.project_id = :project_id

-- name: where_project_id_observation
-- Rows of one project that name it; its index is ordered by time.
m.project_id = :project_id

-- name: where_project_id_session
-- Likewise.
m.project_id = :project_id

-- name: where_session
-- Of one session.
m.session_id = (SELECT id FROM sdk_sessions WHERE claude_session_id = :session)

-- name: where_since
-- From some time on.
m.created_at_epoch >= :since

-- name: where_until
-- Before some time.
m.created_at_epoch < :until

-- name: where_type
-- Rows of one type; its index is ordered by time.
m.type = :type

-- name: where_branch
-- Made on a branch.
s.branch = :branch

-- name: where_branch_observation
-- Made on a branch, for rows that contain it.
m.branch = :branch

-- name: where_branch_evidence
-- Likewise.
m.branch = :branch

-- name: where_branch_session
-- Likewise.
m.branch = :branch

-- name: where_client
-- Of one client's sessions.
s.client = :client

-- name: where_authors
-- Memories from sessions of some members of the team; '' is the user.
COALESCE(s.author, '') IN (SELECT value FROM json_each(:authors))

-- name: where_superseded
-- Superseded by a newer one.
m.superseded_by IS NOT NULL

-- name: where_current
-- Not superseded.
m.superseded_by IS NULL

-- name: where_wrong
-- Marked wrong: they are few.
m.id IN (SELECT id FROM observations WHERE wrong = 1)

-- name: where_right
-- Not marked wrong.
m.wrong = 0

-- name: where_earlier
-- Rows before a given one, in a list with the newest first.
(m.created_at_epoch, m.id) < (:place_at, :place_id)

-- name: where_later
-- After a row.
(m.created_at_epoch, m.id) > (:place_at, :place_id)

-- name: where_pinned
-- Pinned memories, which are few.
m.id IN (SELECT id FROM observations WHERE pinned = 1)

-- name: where_less_active
-- Sessions, after one in their list.
(m.updated_at_epoch, m.id) < (:place_at, :place_id)

-- name: where_client_session
-- Sessions, of one client.
m.client = :client

-- name: where_authors_session
-- Sessions, of some members of the team.
COALESCE(m.author, '') IN (SELECT value FROM json_each(:authors))

-- name: where_since_session
-- Sessions, in which something happened from some time on.
m.updated_at_epoch >= :since

-- name: where_until_session
-- Sessions that began before some time.
m.created_at_epoch < :until

-- name: where_session_session
-- The session by the client's own id.
m.claude_session_id = :session

-- name: no_more
-- In no order.
LIMIT :limit

-- name: newest_first
-- By time.
ORDER BY m.created_at_epoch DESC, m.id DESC LIMIT :limit OFFSET :offset

-- name: oldest_first
-- By time, the other way.
ORDER BY m.created_at_epoch, m.id LIMIT :limit OFFSET :offset

-- name: last_active_first
-- Sessions, by when something last happened in them.
ORDER BY m.updated_at_epoch DESC, m.id DESC LIMIT :limit OFFSET :offset

-- name: where_types
-- Of some types.
m.type IN (SELECT value FROM json_each(:types))

-- name: where_about
-- Memories about a file, by the index of files.
m.id IN (SELECT value FROM json_each(:about))

-- name: where_besides
-- A condition on the project that must not use the project's index, because another one is more selective.
+m.project_id = :project_id

-- name: where_client_observation
-- Likewise, for a list without sessions, which is also ordered by time.
+m.session_id IN (SELECT id FROM sdk_sessions WHERE client = :client)

-- name: where_authors_observation
-- Likewise, by members of the team; '' is the user.
+m.session_id IN (
    SELECT id FROM sdk_sessions WHERE COALESCE(author, '') IN (SELECT value FROM json_each(:authors))
)
