"""A copy of the database to try something on: nobody sees it, and nothing of it outlives its use."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from claude_mem.model.clock import Clock
from claude_mem.model.records import Record
from claude_mem.ports.portable import Absorbed
from claude_mem.store.sqlite import absorbing
from claude_mem.store.sqlite.connection import open_reader
from claude_mem.store.sqlite.faults import translated


class Scratch:
    def __init__(self, db: sqlite3.Connection, clock: Clock) -> None:
        self._db, self._clock = db, clock

    def absorb(self, records: Sequence[Record], *, own: bool) -> Absorbed:
        """As `Portable.absorb`."""
        self._db.execute("BEGIN")
        absorbed = absorbing.absorb(self._db, records, self._clock(), own=own)
        self._db.execute("COMMIT")
        return absorbed


@contextmanager
def scratch(database: Path, clock: Clock) -> Iterator[Scratch]:
    # The empty name is a file that SQLite has removed from its folder before it writes to it.
    with closing(sqlite3.connect("", isolation_level=None)) as db, translated(database):
        db.row_factory = sqlite3.Row
        with closing(open_reader(database)) as source:
            source.backup(db)
        db.execute("PRAGMA synchronous = OFF")
        yield Scratch(db, clock)
