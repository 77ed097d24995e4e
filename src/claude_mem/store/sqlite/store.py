"""The store on one SQLite file, in parts: each call of a part is one transaction."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from types import TracebackType

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreDamaged
from claude_mem.store.sqlite import backup, recovery, schema
from claude_mem.store.sqlite.arrivals import Inbox
from claude_mem.store.sqlite.connection import Readers, Writer, empty_log, open_reader
from claude_mem.store.sqlite.database_files import clear_drafts, private_directory
from claude_mem.store.sqlite.forget import Deletion
from claude_mem.store.sqlite.injections import Injections
from claude_mem.store.sqlite.memories import Memories
from claude_mem.store.sqlite.projects import Projects
from claude_mem.store.sqlite.queue import Queue
from claude_mem.store.sqlite.recovery import Recovered
from claude_mem.store.sqlite.retention import EvidenceRetention, FileSpace
from claude_mem.store.sqlite.sessions import Sessions
from claude_mem.store.sqlite.statistics import Statistics
from claude_mem.store.sqlite.text_index import TextIndex
from claude_mem.store.sqlite.transfer import Transfer
from claude_mem.store.sqlite.vector_index import EmbeddingProgress, VectorTable


class Store:
    """Any thread may call its parts; any call may block, and raises StoreError."""

    def __init__(
        self, path: Path, db: sqlite3.Connection, *, clock: Clock, backups: Path, recovered: Recovered | None
    ) -> None:
        self.path = path
        self.recovered = recovered
        """What was done about a damaged database when this one was opened; None: it was whole."""
        self.readers = readers = Readers(path)
        self.writer = writer = Writer(db, path)
        self.inbox = Inbox(readers, writer, clock)
        self.queue = Queue(readers, writer, clock)
        self.sessions = Sessions(readers, writer)
        self.memories = Memories(readers, writer)
        self.projects = Projects(readers, writer)
        self.injections = Injections(readers, writer)
        self.deletion = Deletion(readers, writer, clock)
        self.transfer = Transfer(readers, writer, clock)
        self.statistics = Statistics(readers, writer)
        self.text_index = TextIndex(readers, writer)
        self.vectors = VectorTable(readers, writer)
        self.embeddings = EmbeddingProgress(readers, writer)
        self.evidence = EvidenceRetention(readers, writer, clock)
        self.space = FileSpace(path, readers, writer)
        self.upkeep = Upkeep(path, writer, clock, backups)

    @classmethod
    def open(cls, path: Path, *, clock: Clock, backups: Path) -> Store:
        """Make, migrate or recover the database as needed. Raises StoreForeign and StoreTooNew with the file
        untouched, StoreUnavailable when it cannot be written; never for damage (see `recovered`)."""
        private_directory(path.parent)
        recovered = None
        try:
            db = _open_whole(path, clock, backups)
        except StoreDamaged as damage:
            recovered = recovery.recover(path, clock=clock, backups=backups, detail=damage.detail)
            db = _open_whole(path, clock, backups)
        return cls(path, db, clock=clock, backups=backups, recovered=recovered)

    def close(self) -> None:
        """Finish what is being written, then let go of the file."""
        self.readers.close()
        self.writer.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Upkeep:
    """What the worker does when nobody is waiting."""

    def __init__(self, path: Path, writer: Writer, clock: Clock, backups: Path) -> None:
        self._path, self._writer, self._clock, self._backups = path, writer, clock, backups

    def checkpoint(self) -> bool:
        """Empty the log into the database; False if a reader stood in the way of some of it."""
        return self._writer.alone(empty_log)

    def check(self) -> None:
        """Read the whole file through, however large; StoreDamaged says what is wrong (see `recover`)."""
        with closing(open_reader(self._path)) as db:
            recovery.check(db, self._path)

    def backup(self) -> Path:
        return backup.make(self._path, self._backups, self._clock())

    def backup_if_due(self) -> Path | None:
        return backup.make_if_due(self._path, self._backups, self._clock())


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
