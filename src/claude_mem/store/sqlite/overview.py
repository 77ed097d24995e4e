"""Answers about the whole: the queue at a glance, and what was counted."""

from __future__ import annotations

import sqlite3

from claude_mem.model.jobs import Job, JobState, QueueFigures
from claude_mem.store.sqlite import rows
from claude_mem.store.sqlite.queries import execute


def figures(db: sqlite3.Connection) -> QueueFigures:
    by_state = {JobState(state): jobs for state, jobs in execute(db, "figures")}
    oldest = execute(db, "oldest_ready").fetchone()
    return QueueFigures(
        ready=by_state[JobState.READY],
        leased=by_state[JobState.LEASED],
        parked=by_state[JobState.PARKED],
        done=by_state[JobState.DONE],
        oldest_ready_at=oldest and oldest[0],
    )


def jobs(db: sqlite3.Connection, state: JobState, limit: int, after: int) -> list[tuple[Job, str | None]]:
    page = execute(db, "jobs_in_state", state=state, limit=max(0, limit), after=after)
    return [(rows.job(row), row["reason"]) for row in page]


def counters(db: sqlite3.Connection) -> dict[str, int]:
    return dict(execute(db, "counters").fetchall())


def count(db: sqlite3.Connection, name: str, by: int) -> None:
    execute(db, "count", name=name, by=by)


def last_event_at(db: sqlite3.Connection) -> int | None:
    (at,) = execute(db, "last_event_at").fetchone()
    return None if at is None else int(at)
