-- Parts of statements: what narrows and orders the lists of memory_filters.sql and sessions.sql. Each has a name and a purpose.

-- name: where_project
-- Of one project.
s.project_id = :project_id

-- name: where_own_project
-- Of one project, where the row names it: its index is ordered by time.
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
-- Of one type: its index is ordered by time.
m.type = :type

-- name: where_branch
-- Made on a branch.
s.branch = :branch

-- name: where_own_branch
-- Made on a branch, where a row says so itself.
m.branch = :branch

-- name: where_client
-- Of one client's sessions.
s.client = :client

-- name: where_author
-- Of sessions of some members of the team; '' is oneself.
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
-- Before a row, as a list goes that has the newest first.
(m.created_at_epoch, m.id) < (:place_at, :place_id)

-- name: where_later
-- After a row.
(m.created_at_epoch, m.id) > (:place_at, :place_id)

-- name: where_pinned
-- Kept in sight by the user: they are few.
m.id IN (SELECT id FROM observations WHERE pinned = 1)

-- name: where_less_active
-- Sessions, after one in their list.
(m.updated_at_epoch, m.id) < (:place_at, :place_id)

-- name: where_agent
-- Sessions, of one client.
m.client = :client

-- name: where_member
-- Sessions, of some members of the team.
COALESCE(m.author, '') IN (SELECT value FROM json_each(:authors))

-- name: where_active_since
-- Sessions, in which something happened from some time on.
m.updated_at_epoch >= :since

-- name: where_named
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
-- About a file, by the index of files.
m.id IN (SELECT value FROM json_each(:about))
