"""Handing work out: in order within a session, one holder for each session at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile

from claude_mem.model.errors import StoreError
from claude_mem.model.job import Job, Lease
from claude_mem.model.observation import Memory
from claude_mem.store.sqlite import rows
from claude_mem.store.sqlite.memory import remember
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import Value

HORIZON_MS = 24 * 60 * 60 * 1000
"""Nobody is asked to wait longer than this: a later time was set by a clock that has jumped back since."""


def lease(db: sqlite3.Connection, limit: int, now: int) -> Lease | None:
    head = execute(db, "next_session", now=now, horizon=now + HORIZON_MS).fetchone()
    if head is None:
        return None
    session_id: int = head["session_id"]
    ready = execute(db, "ready_jobs", session_id=session_id, limit=max(1, limit)).fetchall()
    # The run ends at the first job that must wait: what comes after it must not overtake it.
    run = [rows.job(row) for row in takewhile(lambda row: _is_due(row["not_before_epoch"], now), ready)]
    for job in run:
        execute(db, "lease_job", id=job.id)
    return Lease(session_id, tuple(replace(job, attempts=job.attempts + 1) for job in run))


def settle(db: sqlite3.Connection, held: Lease, memory: Memory, now: int) -> None:
    remember(db, held, memory)
    for job in held.jobs:
        _move(db, "settle_job", job, now=now)


def postpone(db: sqlite3.Connection, held: Lease, until: int, reason: str, *, failed: bool) -> None:
    for job in held.jobs:
        _move(db, "postpone_job", job, until=until, reason=reason, uncounted=0 if failed else 1)


def park(db: sqlite3.Connection, held: Lease, reason: str) -> None:
    for job in held.jobs:
        _move(db, "park_job", job, reason=reason)


def reclaim(db: sqlite3.Connection) -> int:
    return execute(db, "reclaim_jobs").rowcount


def resume(db: sqlite3.Connection, job_ids: Sequence[int] | None) -> int:
    if job_ids is None:
        return execute(db, "resume_jobs").rowcount
    return sum(execute(db, "resume_job", id=job_id).rowcount for job_id in job_ids)


def _is_due(not_before: int, now: int) -> bool:
    return not_before <= now or not_before > now + HORIZON_MS


def _move(db: sqlite3.Connection, statement: str, job: Job, **change: Value) -> None:
    """Each handing out counts an attempt, so a holder whose lease was taken back cannot pass for the next."""
    if execute(db, statement, id=job.id, attempts=job.attempts, **change).rowcount != 1:
        raise StoreError(f"The lease on job {job.id} is stale: somebody else holds it, or it is settled.")
