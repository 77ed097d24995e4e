"""Shows other processes that this one is alive: a number, and an advisory lock on that number.

The lock is held by a connection that does nothing else. It is lost with the connection, for example when the
server restarts, and acquired again as soon as this process notices. Until then, a starting process assumes
that our leases are dead, so what we are observing is observed twice and stored once.
"""

from __future__ import annotations

from contextlib import closing, suppress
from threading import Lock
from zlib import crc32

import psycopg

from claude_mem.model.errors import StoreUnavailable
from claude_mem.store.postgres.connection import LOCK, PostgresConnection, Row, connect, error_of, name_of


class Presence:
    """Any thread may call it."""

    def __init__(self, url: str) -> None:
        self._url, self._lock = url, Lock()
        self._is_held = True
        self._raw = connect(url)
        self._claims, self._claimed_by = set[str](), self._raw
        try:
            _require_session(self._raw, url)
            self.holder = int(self._run("new_holder", lock=LOCK)["holder"])
        except psycopg.Error as error:
            self._raw.close()
            raise error_of(error) from error
        except BaseException:
            self._raw.close()
            raise

    def owner_of(self, schema: str) -> str:
        with self._lock:
            try:
                return str(self._run("schema_owner", schema=schema)["owner"])
            except psycopg.Error as error:
                raise error_of(error) from error

    def renew(self) -> None:
        """Take the lock again if it was lost. Nothing if the server cannot be reached: who needs it will say
        so."""
        with self._lock:
            if self._is_held and self._answers():
                return
            self._raw.close()
            with suppress(psycopg.Error, StoreUnavailable):
                self._raw = connect(self._url)
                # If the server has not noticed the loss yet, it holds the lock for us a while longer.
                self._is_held = bool(self._run("renew_holder", lock=LOCK, holder=self.holder)["held"])

    def claim(self, work: str) -> bool:
        """Whether this process is the one, of all that have the database open, that does this work. It is
        until it ends or loses the database."""
        number = -1 - crc32(work.encode()) % 2**30  # below those of processes
        with self._lock:
            try:
                if self._claimed_by is not self._raw:
                    self._claimed_by, self._claims = self._raw, set()
                if work in self._claims:
                    self._raw.execute("SELECT 1")  # else it may have been lost without a word
                elif self._run("claim", lock=LOCK, number=number)["claimed"]:
                    self._claims.add(work)
            except psycopg.Error as error:
                raise error_of(error) from error
            return work in self._claims

    def close(self) -> None:
        with self._lock, suppress(psycopg.Error):
            self._raw.close()

    def _answers(self) -> bool:
        try:
            self._raw.execute("SELECT 1")
        except psycopg.Error:
            return False
        return True

    def _run(self, query: str, **given: object) -> Row:
        db = PostgresConnection(self._raw)
        found: Row = db.run(db.queries[query], given).fetchone()
        return found


def _require_session(raw: psycopg.Connection[Row], url: str) -> None:
    """A pooler that lends a connection for one transaction loses our lock, and what we listen to. It shows by
    giving two of us the same one."""
    behind = _backend(raw)
    if behind == raw.info.backend_pid:
        return
    with closing(connect(url)) as other:
        if _backend(other) == behind:
            raise StoreUnavailable(
                f"{name_of(url)} is behind a pooler in transaction mode. Use its session mode, or connect to "
                "PostgreSQL directly"
            )


def _backend(raw: psycopg.Connection[Row]) -> int:
    row = raw.execute("SELECT pg_backend_pid()").fetchone()
    assert row is not None
    return int(row[0])
