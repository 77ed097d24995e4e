"""Deletes the words of old evidence and gives unused space back to the file system."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from msgspec import Struct

from claude_mem.model.clock import Clock
from claude_mem.store.sqlite import forget
from claude_mem.store.sqlite.connection import Part, Readers, Value, Writer, transaction, vacuum
from claude_mem.store.values import DatabaseSize

WEIGHED_AT_ONCE = 5_000
EMPTIED_AT_ONCE = 200


class Evidence(Struct, frozen=True):
    events: int = 0
    characters: int = 0

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(self.events + other.events, self.characters + other.characters)


class EvidenceRetention(Part):
    """How much evidence there is, and which goes when it is too old or too much: the raw text of what was
    done, never what was learned of it, and never what nobody has observed yet."""

    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        super().__init__(readers, writer)
        self._clock = clock
        self._expired_until = 0  # sessions before it were looked at; anew once in a worker's life

    def weigh(self) -> Evidence:
        """All of it. Reads all there is, a part at a time: no log has to be kept for it."""
        last = self._number("last_evidence")
        total = Evidence()
        for after in range(0, last, WEIGHED_AT_ONCE):
            total += self._weighed("evidence_between", after=after, upto=min(last, after + WEIGHED_AT_ONCE))
        return total

    def expired(self, before: int) -> Evidence:
        """That of sessions from before some time."""
        return self._weighed("count_expired", before=before)

    def expire(self, before: int, limit: int = 500) -> int:
        """Empty settled events of sessions from before this time of their words; how many. 0: none
        is left."""
        after = self._expired_until
        rows = self._rows("expired_events", after=after, before=before, limit=limit)
        self._expired_until = rows[-1]["updated_at_epoch"] if rows else max(after, before)
        ids = [row["id"] for row in rows]
        return self._writer.run(lambda db: forget.expire(db, ids, self._clock())) if ids else 0

    def trim(self, excess: int) -> Evidence:
        """Empty the oldest until so many characters are gone."""
        gone, after = Evidence(), 0
        while gone.characters < excess:
            rows = self._rows("oldest_evidence", after=after, limit=EMPTIED_AT_ONCE)
            if not rows:
                break
            after = rows[-1]["updated_at_epoch"]
            gone += self._empty(rows, excess - gone.characters)
        return gone

    @transaction
    def _empty(self, db: sqlite3.Connection, rows: list[sqlite3.Row], excess: int) -> Evidence:
        ids, characters = [], 0
        for row in rows:
            if characters >= excess:
                break
            ids.append(row["id"])
            characters += row["characters"]
        return Evidence(forget.expire(db, ids, self._clock()), characters)

    def _weighed(self, query: str, **asked: Value) -> Evidence:
        (row,) = self._rows(query, **asked)
        return Evidence(**row)


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


class FileSpace(Part):
    """The room a database takes, and how what is unused in it is given back without anybody waiting for long.

    A database of this version gives pages back from its end, a few at a time. One that an older version made
    must be written anew once for that: done at once where it is small, else when somebody asks for it."""

    def __init__(self, path: Path, readers: Readers, writer: Writer) -> None:
        super().__init__(readers, writer)
        self._path = path

    def room(self) -> DatabaseSize:
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

    def _at_once(self, before: DatabaseSize) -> int:
        self._writer.alone(vacuum)
        return before.size - self.room().size


def room(db: sqlite3.Connection, path: Path) -> DatabaseSize:
    size, pages, free, mode = (
        int(db.execute(f"PRAGMA {name}").fetchone()[0])
        for name in ("page_size", "page_count", "freelist_count", "auto_vacuum")
    )
    try:
        log = path.with_name(f"{path.name}-wal").stat().st_size
    except FileNotFoundError:
        log = 0
    return DatabaseSize(size * pages, size * free, log, shrinks=mode == _INCREMENTAL)


def _step(db: sqlite3.Connection) -> None:
    # As a script: it gives a page back each time it is stepped, and `execute` steps it once.
    db.executescript(f"PRAGMA incremental_vacuum({PAGES});")
