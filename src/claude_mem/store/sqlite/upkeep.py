"""Maintenance in the background: backups, checkpoints, and returning unused space to the file system.

A database of this version returns pages from its end, a few at a time. One from an older version must be
rewritten once to allow this: immediately if it is small, otherwise on request.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from claude_mem.model.clock import Clock
from claude_mem.store.relational import upkeep
from claude_mem.store.relational.part import Connection
from claude_mem.store.sqlite import backup, recovery
from claude_mem.store.sqlite.connection import (
    Readers,
    SqliteConnection,
    Writer,
    empty_log,
    open_reader,
    vacuum,
)
from claude_mem.store.sqlite.database_files import beside
from claude_mem.store.values import DatabaseSize

PAGES = 128
"""Pages returned per transaction: half a mebibyte, which takes a few milliseconds."""
UNUSED = 0.25
"""The share that may stay unused; new memories use it."""
LEFT = 0.10
"""The share that stays unused after space is returned."""
FEWEST_BYTES = 4 << 20
"""Less is not worth returning."""
AT_ONCE_BYTES = 64 << 20
"""A larger file is only rewritten on request, because that takes about a second per hundred mebibytes."""
_INCREMENTAL = 2


class Upkeep(upkeep.Upkeep):
    _writer: Writer

    def __init__(self, readers: Readers, writer: Writer, clock: Clock, path: Path, backups: Path) -> None:
        super().__init__(readers, writer, clock)
        self._path, self._backups = path, backups

    def checkpoint(self) -> bool:
        return self._writer.alone(empty_log)

    def check(self) -> None:
        """Checks the whole file, however large; raises StoreDamaged with the problem (see `recover`)."""
        with closing(open_reader(self._path)) as db:
            recovery.check(db, self._path)

    def backup(self) -> Path:
        return backup.make(self._path, self._backups, self._clock())

    def backup_if_due(self) -> Path | None:
        return backup.make_if_due(self._path, self._backups, self._clock())

    def size(self) -> DatabaseSize:
        with self._readers.read() as db:
            return size(db, self._path)

    def shrink(self) -> int:
        now = self.size()
        if now.free < FEWEST_BYTES or now.free < now.size * UNUSED:
            return 0
        if not now.shrinks and now.size > AT_ONCE_BYTES:
            return 0
        return self._give_back(now, int(now.size * LEFT))

    def shrink_fully(self) -> int:
        now = self.size()
        return self._give_back(now, 0) if now.free else 0

    def _give_back(self, before: DatabaseSize, leave: int) -> int:
        if not before.shrinks:
            self._writer.alone(vacuum)
            return before.size - self.size().size
        last = before.free
        while last > leave:
            self._writer.alone(_step)
            free = self.size().free
            if free >= last:
                break  # somebody has freed as much meanwhile; the next time
            last = free
        return before.size - self.size().size


def size(db: Connection, path: Path) -> DatabaseSize:
    page, pages, free, mode = (
        int(db.run(f"PRAGMA {name}", {}).fetchone()[0])
        for name in ("page_size", "page_count", "freelist_count", "auto_vacuum")
    )
    try:
        log = beside(path, "-wal").stat().st_size
    except FileNotFoundError:
        log = 0
    return DatabaseSize(page * pages, page * free, log, shrinks=mode == _INCREMENTAL)


def _step(db: SqliteConnection) -> None:
    # As a script: it gives a page back each time it is stepped, and `execute` steps it once.
    db.executescript(f"PRAGMA incremental_vacuum({PAGES});")
