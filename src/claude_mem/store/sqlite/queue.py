"""Handing work out: in order within a session, one holder for each session at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from claude_mem.model.errors import StoreError
from claude_mem.model.events import Kind
from claude_mem.model.jobs import Job, Lease, Spend
from claude_mem.model.memory import Memory
from claude_mem.store.sqlite import rows, spending
from claude_mem.store.sqlite.memory import remember
from claude_mem.store.sqlite.overview import count
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import Value

HORIZON_MS = 24 * 60 * 60 * 1000
"""Nobody is asked to wait longer than this: a later time was set by a clock that has jumped back since."""

DROPPED = "dropped by the user"


def lease(db: sqlite3.Connection, limit: int, session_id: int | None, now: int) -> Lease | None:
    if session_id is None:
        head = execute(db, "due_sessions", now=now, horizon=now + HORIZON_MS, limit=1).fetchone()
    else:
        head = execute(db, "due_session", session_id=session_id, now=now, horizon=now + HORIZON_MS).fetchone()
    if head is None:
        return None
    holding: int = head["session_id"]
    ready = execute(db, "ready_jobs", session_id=holding, limit=max(1, limit)).fetchall()
    run = list(_run(ready, now))
    number = _next_number(db)
    for job in run:
        execute(db, "lease_job", id=job.id, number=number)
    return Lease(holding, tuple(replace(job, attempts=job.attempts + 1) for job in run), number)


def settle(
    db: sqlite3.Connection,
    held: Lease,
    memory: Memory,
    spend: Spend | None,
    provider: str | None,
    now: int,
) -> None:
    remember(db, held, memory, provider)
    _move(db, "settle_job", held, now=now)
    _pay(db, held, spend, now)


def postpone(
    db: sqlite3.Connection,
    held: Lease,
    until: int,
    reason: str,
    spend: Spend | None,
    now: int,
    *,
    failed: bool,
) -> None:
    _move(db, "postpone_job", held, until=until, reason=reason, uncounted=0 if failed else 1)
    _pay(db, held, spend, now)


def park(db: sqlite3.Connection, held: Lease, reason: str, spend: Spend | None, now: int) -> None:
    _move(db, "park_job", held, reason=reason)
    _pay(db, held, spend, now)


def reclaim(db: sqlite3.Connection) -> int:
    return execute(db, "reclaim_jobs").rowcount


def resume(db: sqlite3.Connection, job_ids: Sequence[int] | None) -> int:
    if job_ids is None:
        execute(db, "hurry_jobs")
        return execute(db, "resume_jobs").rowcount
    return sum(execute(db, "resume_job", id=job_id).rowcount for job_id in job_ids)


def drop(db: sqlite3.Connection, job_ids: Sequence[int], now: int) -> int:
    return sum(execute(db, "drop_job", id=job_id, reason=DROPPED, now=now).rowcount for job_id in job_ids)


def _run(ready: Iterable[sqlite3.Row], now: int) -> Iterator[Job]:
    """Up to the end of a turn, which gets a summary of its own, or the first job that must wait: what comes
    after that must not overtake it."""
    for row in ready:
        if now < row["not_before_epoch"] <= now + HORIZON_MS:
            return
        job = rows.job(row)
        yield job
        if job.event.kind is Kind.STOP:
            return


def _next_number(db: sqlite3.Connection) -> int:
    """Counted over the store's life: attempts start anew when a job is resumed, this never does."""
    count(db, "leases", 1)
    (number,) = execute(db, "counted", name="leases").fetchone()
    return int(number)


def _move(db: sqlite3.Connection, statement: str, held: Lease, **change: Value) -> None:
    for job in held.jobs:
        if execute(db, statement, id=job.id, number=held.number, **change).rowcount != 1:
            raise StoreError(f"The lease on job {job.id} is stale: somebody else holds it, or it is settled.")


def _pay(db: sqlite3.Connection, held: Lease, spend: Spend | None, now: int) -> None:
    if spend is not None:
        spending.add(db, held.session_id, spend, now)
