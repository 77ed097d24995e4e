"""Answers about sessions, and the two states no event brings about: failed and interrupted."""

from __future__ import annotations

import sqlite3

from claude_mem.model.jobs import Session
from claude_mem.store.sqlite import rows
from claude_mem.store.sqlite.queries import execute


def find(db: sqlite3.Connection, session: int | str) -> Session | None:
    by = "session_by_id" if isinstance(session, int) else "session_by_client_id"
    row = execute(db, by, session=session).fetchone()
    return row and rows.session(row)


def fail(db: sqlite3.Connection, session_id: int) -> None:
    execute(db, "fail_session", session_id=session_id)


def interrupt_silent(db: sqlite3.Connection, before: int) -> int:
    return execute(db, "interrupt_sessions", before=before).rowcount


def count_open(db: sqlite3.Connection) -> int:
    (found,) = execute(db, "count_open_sessions").fetchone()
    return int(found)
