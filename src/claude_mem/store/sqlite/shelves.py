"""What recall reads about sessions and projects as wholes."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from claude_mem.model.recall import Filters
from claude_mem.store.sqlite.queries import conditions, execute, queries
from claude_mem.store.sqlite.readers import Readers

LAST_SESSIONS = 20


class SqliteShelves:
    def __init__(self, readers: Readers) -> None:
        self._readers = readers

    def sessions(self, filters: Filters, *, limit: int, offset: int = 0) -> list[dict[str, Any]]:
        """The one in which something last happened first."""
        wanted = {
            "m.project_id = :project_id": filters.project_id,
            "m.branch = :branch": filters.branch,
            "m.client = :client": filters.client,
            "m.updated_at_epoch >= :since": filters.since,
            "m.created_at_epoch < :until": filters.until,
            "m.claude_session_id = :session": filters.session,
        }
        named = [part for part, value in wanted.items() if value is not None]
        where = f"WHERE {' AND '.join(named)}" if named else ""
        statement = f"{queries()['list_session'].rstrip(';')} {where} {conditions()['last_active_first']}"
        given = {
            "project_id": filters.project_id,
            "branch": filters.branch,
            "client": filters.client,
            "since": filters.since,
            "until": filters.until,
            "session": filters.session,
            "limit": limit,
            "offset": offset,
        }
        with self._readers.read() as db:
            return _shown(db, [row["id"] for row in db.execute(statement, given)])

    def session(self, given: str) -> dict[str, Any] | None:
        """By the client's id or the beginning of it, or by the database's; with its neighbours' ids."""
        with self._readers.read() as db:
            row = execute(db, "session_named", given=given).fetchone()
            if row is None:
                return None
            (found,) = _shown(db, [row["id"]])
            for name in ("before", "after"):
                beside = execute(db, f"session_{name}", id=row["id"]).fetchone()
                found[name] = next(iter(_shown(db, [beside["id"]])), None) if beside else None
            return found

    def last_summaries(self, project_id: int, but_for: str, limit: int) -> list[int]:
        """The ids of the newest summaries, one a session."""
        with self._readers.read() as db:
            found = execute(
                db,
                "last_summaries",
                project_id=project_id,
                but_for=but_for,
                limit=limit,
                sessions=LAST_SESSIONS,
            )
            return [row["id"] for row in found]

    def compacted_at(self, session: str) -> int:
        with self._readers.read() as db:
            (at,) = execute(db, "last_compaction", session=session).fetchone()
            return int(at or 0)

    def figures(self, project_id: int) -> tuple[int, int]:
        """How many sessions and observations."""
        with self._readers.read() as db:
            row = execute(db, "project_figures", project_id=project_id).fetchone()
            return row["sessions"], row["observations"]

    def directories(self, project_id: int, limit: int) -> list[str]:
        """Where its last sessions worked."""
        with self._readers.read() as db:
            found = execute(db, "working_directories", project_id=project_id, limit=limit)
            return [row["cwd"] for row in found]


def _shown(db: sqlite3.Connection, ids: list[int]) -> list[dict[str, Any]]:
    found = execute(db, "sessions_shown", ids=json.dumps(ids)).fetchall()
    return [{name: row[name] for name in row.keys()} for row in found]  # noqa: SIM118 - a Row is no dict
