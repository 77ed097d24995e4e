"""The store's one face: each promise is a function of a connection, run here in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from types import TracebackType

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreDamaged
from claude_mem.model.events import Origin
from claude_mem.model.jobs import Gathered, Job, JobState, Lease, QueueFigures, Session, Spend, Spent
from claude_mem.model.memory import Batch, Memory
from claude_mem.store.sqlite import arrivals as sqlite_arrivals
from claude_mem.store.sqlite import backup, projects, queue, recovery, schema, sessions
from claude_mem.store.sqlite.connection import Readers, Writer, empty_log, open_reader
from claude_mem.store.sqlite.database_files import clear_drafts, private_directory
from claude_mem.store.sqlite.recovery import Recovered
from claude_mem.store.values import (
    Accepted,
    Arrival,
    BackfillAccepted,
    BackfillOptions,
    BackfillProgress,
    KnownSession,
    Spending,
)


class SqliteStore:
    """Inbox, Past, Queue, Work, Ledger, Sessions and Overview on one SQLite file.

    Any thread may call it; any call may block.
    """

    def __init__(
        self, path: Path, db: sqlite3.Connection, *, clock: Clock, backups: Path, recovered: Recovered | None
    ) -> None:
        self.path = path
        self.backups = backups
        self.recovered = recovered
        """What was done about a damaged database when this one was opened; None: it was whole."""
        self._clock = clock
        self.readers = Readers(path)
        self.writer = Writer(db, path)

    @classmethod
    def open(cls, path: Path, *, clock: Clock, backups: Path) -> SqliteStore:
        """Make, migrate or recover the database as needed. Raises StoreForeign and StoreTooNew with the file
        untouched, StoreUnavailable when it cannot be written; never for damage (see `recovered`)."""
        private_directory(path.parent)
        try:
            db = _open_whole(path, clock, backups)
        except StoreDamaged as damage:
            recovered = recovery.recover(path, clock=clock, backups=backups, detail=damage.detail)
            db = _open_whole(path, clock, backups)
            return cls(path, db, clock=clock, backups=backups, recovered=recovered)
        return cls(path, db, clock=clock, backups=backups, recovered=None)

    def close(self) -> None:
        """Finish what is being written, then let go of the file."""
        self.readers.close()
        self.writer.close()

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Inbox

    def accept(self, arrivals: Sequence[Arrival]) -> Accepted:
        return self.writer.run(lambda db: sqlite_arrivals.accept(db, arrivals, self._clock()))

    def belonging(self, origin: Origin) -> Origin:
        with self.readers.read() as db:
            return projects.with_project(db, origin)

    # Past

    def accept_past(self, arrivals: Sequence[Arrival], manner: BackfillOptions) -> BackfillAccepted:
        return self.writer.run(lambda db: sqlite_arrivals.accept_past(db, arrivals, manner, self._clock()))

    def release(self, sessions: Sequence[str]) -> None:
        self.writer.run(lambda db: sqlite_arrivals.release_sessions(db, sessions))

    def known(self, sessions: Sequence[str]) -> dict[str, KnownSession]:
        with self.readers.read() as db:
            return sqlite_arrivals.known_sessions(db, sessions)

    def progress(self, since: int) -> BackfillProgress:
        with self.readers.read() as db:
            return sqlite_arrivals.backfill_progress(db, since, self._clock())

    # Queue and Work

    def gathered(self) -> list[Gathered]:
        with self.readers.read() as db:
            return queue.gathered(db, self._clock())

    def lease(self, limit: int, session_id: int | None = None) -> Lease | None:
        return self.writer.run(lambda db: queue.lease(db, limit, session_id, self._clock()))

    def batch(self, lease: Lease) -> Batch:
        with self.readers.read() as db:
            return queue.batch(db, lease)

    def settle(
        self, lease: Lease, memory: Memory, spend: Spend | None = None, *, provider: str | None = None
    ) -> None:
        self.writer.run(lambda db: queue.settle(db, lease, memory, spend, provider, self._clock()))

    def postpone(
        self, lease: Lease, until: int, reason: str, *, failed: bool, spend: Spend | None = None
    ) -> None:
        self.writer.run(
            lambda db: queue.postpone(db, lease, until, reason, spend, self._clock(), failed=failed)
        )

    def park(self, lease: Lease, reason: str, spend: Spend | None = None) -> None:
        self.writer.run(lambda db: queue.park(db, lease, reason, spend, self._clock()))

    def reclaim(self) -> int:
        return self.writer.run(queue.reclaim)

    def resume(self, job_ids: Sequence[int] | None = None) -> int:
        return self.writer.run(lambda db: queue.resume(db, job_ids))

    def drop(self, job_ids: Sequence[int]) -> int:
        return self.writer.run(lambda db: queue.drop(db, job_ids, self._clock()))

    # Ledger

    def spent(self, session_id: int, now: int) -> Spent:
        with self.readers.read() as db:
            return queue.budget_spent(db, session_id, now)

    def spending(self, since: int) -> list[Spending]:
        with self.readers.read() as db:
            return queue.spending_since(db, since)

    # Sessions

    def find(self, session: int | str) -> Session | None:
        with self.readers.read() as db:
            return sessions.find(db, session)

    def fail(self, session_id: int) -> None:
        self.writer.run(lambda db: sessions.fail(db, session_id))

    def interrupt_silent(self, before: int) -> int:
        return self.writer.run(lambda db: sessions.interrupt_silent(db, before))

    def count_open(self) -> int:
        with self.readers.read() as db:
            return sessions.count_open(db)

    # Overview

    def figures(self) -> QueueFigures:
        with self.readers.read() as db:
            return queue.figures(db)

    def jobs(self, state: JobState, limit: int, after: int = 0) -> list[tuple[Job, str | None]]:
        with self.readers.read() as db:
            return queue.jobs(db, state, limit, after)

    def counters(self) -> dict[str, int]:
        with self.readers.read() as db:
            return queue.counters(db)

    def count(self, name: str, by: int = 1) -> None:
        self.writer.run(lambda db: queue.count(db, name, by))

    def last_event_at(self) -> int | None:
        with self.readers.read() as db:
            return queue.last_event_at(db)

    # Upkeep: what the worker does when nobody is waiting

    def checkpoint(self) -> bool:
        """Empty the log into the database; False if a reader stood in the way of some of it."""
        return self.writer.alone(empty_log)

    def check(self) -> None:
        """Read the whole file through, however large; StoreDamaged says what is wrong (see `recover`)."""
        with closing(open_reader(self.path)) as db:
            recovery.check(db, self.path)

    def backup(self) -> Path:
        return backup.make(self.path, self.backups, self._clock())

    def backup_if_due(self) -> Path | None:
        return backup.make_if_due(self.path, self.backups, self._clock())


def _open_whole(path: Path, clock: Clock, backups: Path) -> sqlite3.Connection:
    db = schema.open_current(path, clock=clock, backups=backups)
    try:
        recovery.check_schema(db, path)
        if path.stat().st_size <= recovery.CHECK_UP_TO:
            recovery.check(db, path)
        clear_drafts(path)
    except BaseException:
        db.close()
        raise
    return db
