"""Who reads: a few connections that cannot write, lent for one short transaction each."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from claude_mem.model.errors import StoreUnavailable
from claude_mem.store.sqlite.connection import open_reader
from claude_mem.store.sqlite.faults import translated

IDLE = 4


class Readers:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._lock = Lock()
        self._closed = False

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """One view of the database, unchanged by what is written meanwhile."""
        db = self._borrow()
        with translated(self._path):
            try:
                db.execute("BEGIN")
                yield db
                db.execute("COMMIT")
            except BaseException:
                db.close()
                raise
        self._give_back(db)

    def close(self) -> None:
        """Connections still lent out are closed when they come back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    def _borrow(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreUnavailable("it was closed")
            if self._idle:
                return self._idle.pop()
        return open_reader(self._path)

    def _give_back(self, db: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < IDLE:
                self._idle.append(db)
                return
        db.close()
