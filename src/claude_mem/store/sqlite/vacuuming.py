"""The room a database takes, and how what is unused in it is given back without anybody waiting for long.

A database of this version gives pages back from its end, a few at a time. One that an older version made
must be written anew once for that: done at once where it is small, else when somebody asks for it.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from claude_mem.ports.housekeeping import Room
from claude_mem.store.sqlite.connection import shrinking
from claude_mem.store.sqlite.readers import Readers
from claude_mem.store.sqlite.writer import Writer

PAGES = 128
"""Given back in one transaction: half a mebibyte, a few milliseconds."""

UNUSED = 0.25
"""What may lie unused: new memories need room as well, and find it there."""
LEFT = 0.10
"""What is left unused when some is given back."""
FEWEST_BYTES = 4 << 20
"""Less is not worth the trouble."""
AT_ONCE_BYTES = 64 << 20
"""A larger file is not written anew unasked: that takes a second for each hundred mebibytes or so."""

_INCREMENTAL = 2


class SqliteRoom:
    """Any thread may call it; any call may block. Raises StoreError."""

    def __init__(self, path: Path, readers: Readers, writer: Writer) -> None:
        self._path, self._readers, self._writer = path, readers, writer

    def room(self) -> Room:
        with self._readers.read() as db:
            return room(db, self._path)

    def keep(self) -> int:
        """Give some back if too much is unused. How many bytes that were."""
        now = self.room()
        if now.free < FEWEST_BYTES or now.free < now.size * UNUSED:
            return 0
        if now.shrinks:
            return self._step_by_step(int(now.size * LEFT))
        return self._at_once(now) if now.size <= AT_ONCE_BYTES else 0

    def give_back(self) -> int:
        """All of it, however long that takes. How many bytes that were."""
        now = self.room()
        if not now.free:
            return 0
        return self._step_by_step(0) if now.shrinks else self._at_once(now)

    def _step_by_step(self, leave: int) -> int:
        before = self.room()
        last = before.free
        while last > leave:
            self._writer.alone(_step)
            free = self.room().free
            if free >= last:
                break  # somebody has freed as much meanwhile; the next time
            last = free
        return before.size - self.room().size

    def _at_once(self, before: Room) -> int:
        self._writer.alone(rewrite)
        return before.size - self.room().size


def room(db: sqlite3.Connection, path: Path) -> Room:
    size, pages, free, mode = (
        int(db.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_size", "page_count", "freelist_count", "auto_vacuum")
    )
    try:
        log = path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        log = 0
    return Room(size * pages, size * free, log, shrinks=mode == _INCREMENTAL)


def rewrite(db: sqlite3.Connection) -> None:
    """The whole file anew, with nothing unused in it. From then on it gives pages back step by step."""
    shrinking(db)
    db.execute("VACUUM")


def _step(db: sqlite3.Connection) -> None:
    # As a script: it gives a page back each time it is stepped, and `execute` steps it once.
    db.executescript(f"PRAGMA incremental_vacuum({PAGES});")
