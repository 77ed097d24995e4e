"""The store on a PostgreSQL database, in parts: each call of a part is one transaction.

Any number of processes may open one database. `presence.py` tells each of them which leases are dead.
"""

from __future__ import annotations

from contextlib import suppress

import psycopg

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreError, StoreTooNew
from claude_mem.store.base import Store
from claude_mem.store.postgres import schema
from claude_mem.store.postgres.connection import (
    SCHEMA,
    Pool,
    Readers,
    Row,
    Writer,
    connect,
    error_of,
    name_of,
)
from claude_mem.store.postgres.directory import Directory
from claude_mem.store.postgres.presence import Presence
from claude_mem.store.postgres.sharing import Sharing
from claude_mem.store.postgres.text_index import TextIndex
from claude_mem.store.postgres.upkeep import Copies, Deletion, Injections, Memories, Statistics, Upkeep
from claude_mem.store.postgres.vector_index import EmbeddingProgress, VectorTable
from claude_mem.store.relational.events import Events
from claude_mem.store.relational.projects import Projects
from claude_mem.store.relational.queue import Queue
from claude_mem.store.relational.sessions import Sessions
from claude_mem.store.relational.transfer import Transfer

JOBS, NEWS = "claude_mem_jobs", "claude_mem_news"
"""The notification channels: events to be observed, and changed memories."""


class PostgresStore(Store):
    def __init__(
        self,
        url: str,
        presence: Presence,
        *,
        clock: Clock,
        owner: str | None = None,
    ) -> None:
        """`owner`: the owner of the tables, on a team's server."""
        self.recovered = None
        self._url, self.presence, self._pool = url, presence, Pool(url, presence.holder, owner)
        self._pool.on_connect = presence.renew
        self._listening: psycopg.Connection[Row] | None = None
        self.readers, self.writer = Readers(self._pool), Writer(self._pool, name_of(url), schema.VERSION)
        part = (self.readers, self.writer, clock)
        self.events = Events(*part)
        self.queue = Queue(*part)
        self.sessions = Sessions(*part)
        self.memories = Memories(*part)
        self.projects = Projects(*part)
        self.injections = Injections(*part)
        self.copies = Copies()
        self.transfer = Transfer(*part)
        self.statistics = Statistics(*part)
        self.text_index = TextIndex(*part)
        self.deletion = Deletion(*part, self.text_index.catch_up)
        self.vectors = VectorTable(*part)
        self.embeddings = EmbeddingProgress(*part)
        self.upkeep = Upkeep(*part)
        self.directory = Directory(*part)
        self.sharing = Sharing(*part)

    @classmethod
    def open(cls, url: str, *, clock: Clock, server: bool = False) -> PostgresStore:
        """Make or migrate our schema as needed. Raises StoreForeign and StoreTooNew with nothing changed,
        StoreUnavailable when the server cannot be reached.

        `server`: for a team. Each transaction is then for whoever is acting (see principal.py)."""
        schema.bring_up_to_date(url)
        if server:
            schema.make_member_role(url)
        presence = Presence(url)
        try:
            owner = presence.owner_of(SCHEMA)
        except StoreError:
            presence.close()
            raise
        return cls(url, presence, clock=clock, owner=owner if server else None)

    def require_current(self) -> None:
        """Raises StoreTooNew if a newer version has migrated, without waiting for one that does so now."""
        with self.readers.read() as db:
            found = int(db.run(db.queries["found_version"], {}).fetchone()["version"])
        if found > schema.VERSION:
            raise StoreTooNew(name_of(self._url), found=found, known=schema.VERSION)

    def wait(self, seconds: float) -> frozenset[str]:
        """What any process has added since it was last asked, or adds within this time: `JOBS`, `NEWS`, or
        nothing. One caller at a time."""
        self.presence.renew()
        try:
            if self._listening is None or self._listening.closed:
                self._listening = connect(self._url)
                for channel in (JOBS, NEWS):
                    self._listening.execute(f"LISTEN {channel}".encode())
                return frozenset((JOBS, NEWS))  # what came before is not known
            notifications = self._listening.notifies(timeout=seconds, stop_after=1)
            return frozenset(each.channel for each in notifications)
        except psycopg.Error as error:
            raise error_of(error) from error

    def close(self) -> None:
        self._pool.close()
        self.presence.close()
        if self._listening is not None:
            with suppress(psycopg.Error):
                self._listening.close()
