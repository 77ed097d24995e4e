"""Rows as the values of the model."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from claude_mem.model.jobs import Session, SessionStatus
from claude_mem.model.refs import Filters
from claude_mem.store.sqlite.connection import Readers, Writer, conditions, execute, queries


def session_of_row(row: sqlite3.Row) -> Session:
    return Session(
        id=row["id"],
        claude_session_id=row["claude_session_id"],
        project=row["project"],
        status=SessionStatus(row["status"]),
        prompt_counter=row["prompt_counter"],
        first_user_prompt=row["first_user_prompt"],
        created_at_epoch=row["created_at_epoch"],
        updated_at_epoch=row["updated_at_epoch"],
        completed_at_epoch=row["completed_at_epoch"],
        client=row["client"],
        cwd=row["cwd"],
        branch=row["branch"],
        title=row["title"],
        subtitle=row["subtitle"],
        pending=row["pending"],
    )


# Answers about sessions, and the two states no event brings about: failed and interrupted.


# What recall reads about sessions and projects as wholes.


LAST_SESSIONS = 20


class Sessions:
    """Sessions, one by one and in lists. Any thread may call it; any call may block. Raises StoreError."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        self._readers, self._writer = readers, writer

    def find(self, session: int | str) -> Session | None:
        """By the database's id (int) or the client's own (str)."""
        by = "session_by_id" if isinstance(session, int) else "session_by_client_id"
        with self._readers.read() as db:
            row = execute(db, by, session=session).fetchone()
        return row and session_of_row(row)

    def fail(self, session_id: int) -> None:
        """An abort was asked for: mark it failed; its queued events stay."""
        self._writer.run(lambda db: execute(db, "fail_session", session_id=session_id))

    def interrupt_silent(self, before: int) -> int:
        """Mark open sessions without activity since `before` as interrupted."""
        return self._writer.run(lambda db: execute(db, "interrupt_sessions", before=before).rowcount)

    def count_open(self) -> int:
        with self._readers.read() as db:
            (found,) = execute(db, "count_open_sessions").fetchone()
        return int(found)

    def sessions(
        self, filters: Filters, *, limit: int, offset: int = 0, after: tuple[int, int] | None = None
    ) -> list[dict[str, Any]]:
        """The one in which something last happened first."""
        where = [*_where(filters), *([conditions()["where_less_active"]] if after else [])]
        given = _given(filters) | {
            "limit": limit,
            "offset": offset,
            "place_at": after and after[0],
            "place_id": after and after[1],
        }
        statement = [
            queries()["list_session"].rstrip(";"),
            *([f"WHERE {' AND '.join(where)}"] if where else []),
            conditions()["last_active_first"],
        ]
        with self._readers.read() as db:
            return _shown(db, [row["id"] for row in db.execute(" ".join(statement), given)])

    def count_sessions(self, filters: Filters) -> int:
        where = _where(filters)
        statement = queries()["count_sessions"].rstrip(";")
        with self._readers.read() as db:
            narrowed = f"{statement} WHERE {' AND '.join(where)}" if where else statement
            return int(db.execute(narrowed, _given(filters)).fetchone()[0])

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


def _where(filters: Filters) -> list[str]:
    wanted = {
        "m.project_id = :project_id": filters.project_id,
        "m.branch = :branch": filters.branch,
        "m.client = :client": filters.client,
        "m.updated_at_epoch >= :since": filters.since,
        "m.created_at_epoch < :until": filters.until,
        "m.claude_session_id = :session": filters.session,
    }
    return [part for part, value in wanted.items() if value is not None]


def _given(filters: Filters) -> dict[str, object]:
    return {
        "project_id": filters.project_id,
        "branch": filters.branch,
        "client": filters.client,
        "since": filters.since,
        "until": filters.until,
        "session": filters.session,
    }


def _shown(db: sqlite3.Connection, ids: list[int]) -> list[dict[str, Any]]:
    found = execute(db, "sessions_shown", ids=json.dumps(ids)).fetchall()
    return [{name: row[name] for name in row.keys()} for row in found]  # noqa: SIM118 - a Row is no dict
