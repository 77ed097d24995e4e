"""What waits in each session, summed up: the cost of asking does not grow with what waits."""

from __future__ import annotations

import sqlite3

from claude_mem.model.jobs import Gathered, SessionStatus
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.queue import HORIZON_MS

SESSIONS = 50
JOBS = 200
"""More of a session's jobs are not looked at: it has more than enough to go out."""

_NO_MORE_TO_COME = (SessionStatus.COMPLETED, SessionStatus.INTERRUPTED)


def gathered(db: sqlite3.Connection, now: int) -> list[Gathered]:
    # Asked for apart, so that fifty that must wait cannot hide one that is due, nor fifty in the middle of
    # their turn one whose turn has ended.
    heads: dict[int, sqlite3.Row] = {}
    for which in ("ended_sessions", "due_sessions", "waiting_sessions"):
        for head in _heads(db, which, now):
            heads.setdefault(head["session_id"], head)
    # What is done now goes before the past, and that in the order it came: so what becomes of it does not
    # depend on who was quicker.
    ordered = sorted(heads.values(), key=lambda head: head["ready_id"] if head["past"] else 0)
    return [_sum(db, head) for head in ordered]


def _heads(db: sqlite3.Connection, which: str, now: int) -> list[sqlite3.Row]:
    return execute(db, which, now=now, horizon=now + HORIZON_MS, limit=SESSIONS).fetchall()


def _sum(db: sqlite3.Connection, head: sqlite3.Row) -> Gathered:
    found = execute(db, "gathered_jobs", session_id=head["session_id"], limit=JOBS).fetchone()
    return Gathered(
        session_id=head["session_id"],
        events=found["events"],
        characters=found["characters"],
        oldest_at=found["oldest_at"],
        newest_at=found["newest_at"],
        turn_ended=bool(found["stopped"]) or head["status"] in _NO_MORE_TO_COME,
        attempts=head["attempts"],
        due_at=head["not_before_epoch"],
        past=bool(head["past"]),
        offline=bool(head["offline"]),
    )
