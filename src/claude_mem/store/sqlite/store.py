"""The store on one SQLite file, in parts: each call of a part is one transaction."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreDamaged
from claude_mem.store.base import Store
from claude_mem.store.outbox import Outbox
from claude_mem.store.relational.events import Events
from claude_mem.store.relational.memories import Memories
from claude_mem.store.relational.projects import Projects
from claude_mem.store.relational.queue import Queue
from claude_mem.store.relational.sessions import Injections, Sessions
from claude_mem.store.relational.statistics import Statistics
from claude_mem.store.relational.transfer import Transfer
from claude_mem.store.sqlite import recovery, schema
from claude_mem.store.sqlite.connection import Readers, SqliteConnection, Writer
from claude_mem.store.sqlite.copies import Copies
from claude_mem.store.sqlite.database_files import draft_of, private_directory
from claude_mem.store.sqlite.secure_delete import Deletion
from claude_mem.store.sqlite.text_index import TextIndex
from claude_mem.store.sqlite.upkeep import Upkeep
from claude_mem.store.sqlite.vector_index import EmbeddingProgress, VectorTable
from claude_mem.store.values import Recovered


class SqliteStore(Store):
    memories: Memories
    deletion: Deletion
    text_index: TextIndex
    vectors: VectorTable
    embeddings: EmbeddingProgress
    upkeep: Upkeep

    def __init__(
        self, path: Path, db: SqliteConnection, *, clock: Clock, backups: Path, recovered: Recovered | None
    ) -> None:
        self.path, self.recovered = path, recovered
        self.readers, self.writer = Readers(path), Writer(db, path)
        part = (self.readers, self.writer, clock)
        self.events = Events(*part)
        self.queue = Queue(*part)
        self.sessions = Sessions(*part)
        self.memories = Memories(*part)
        self.projects = Projects(*part)
        self.injections = Injections(*part)
        self.copies = Copies(backups, partial(_open_copy, clock))
        self.transfer = Transfer(*part)
        self.statistics = Statistics(*part)
        self.text_index = TextIndex(*part)
        self.deletion = Deletion(*part, self.text_index.catch_up)
        self.vectors = VectorTable(*part)
        self.embeddings = EmbeddingProgress(*part)
        self.upkeep = Upkeep(*part, path, backups)
        self.outbox = Outbox(*part)

    @classmethod
    def open(cls, path: Path, *, clock: Clock, backups: Path) -> SqliteStore:
        """Make, migrate or recover the database as needed. Raises StoreForeign and StoreTooNew with the file
        untouched, StoreUnavailable when it cannot be written; never for damage (see `recovered`)."""
        private_directory(path.parent.resolve())  # the data directory itself may be a link of the user's
        recovered = None
        try:
            db = _open_whole(path, clock, backups)
        except StoreDamaged as damage:
            recovered = recovery.recover(path, clock=clock, backups=backups, detail=damage.detail)
            db = _open_whole(path, clock, backups)
        return cls(path, db, clock=clock, backups=backups, recovered=recovered)

    def close(self) -> None:
        self.readers.close()
        self.writer.close()


def _open_copy(clock: Clock, path: Path, backups: Path) -> SqliteStore:
    return SqliteStore.open(path, clock=clock, backups=backups)


def _open_whole(path: Path, clock: Clock, backups: Path) -> SqliteConnection:
    is_new = not path.exists()
    db = schema.open_current(path, clock=clock, backups=backups)
    try:
        if not is_new:
            recovery.check_schema(db, path)
            if path.stat().st_size <= recovery.CHECK_UP_TO:
                recovery.check(db, path)
        schema.remove(draft_of(path))  # what a kill has left half made
    except BaseException:
        db.close()
        raise
    return db
