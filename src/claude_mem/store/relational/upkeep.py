"""Maintenance in the background: old evidence loses its text, and each store looks after its own files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from claude_mem.store.relational import forget
from claude_mem.store.relational.part import Connection, Part, transaction
from claude_mem.store.relational.rows import Value
from claude_mem.store.values import DatabaseSize, Evidence

MEASURED_AT_ONCE = 5_000
EMPTIED_AT_ONCE = 200


class Upkeep(Part, ABC):
    """Evidence is the raw input and output of tools that was already observed, never an observation."""

    _expired_until = 0
    """Sessions before it were checked; starts over with each worker."""

    @abstractmethod
    def checkpoint(self) -> bool:
        """Checkpoint the write-ahead log; False if a reader blocked part of it."""

    @abstractmethod
    def size(self) -> DatabaseSize: ...

    def backup_if_due(self) -> Path | None:
        """Makes a backup if one is due; None: it is not, or the database server makes backups."""
        return None

    def shrink(self) -> int:
        """Return unused space to the file system in short steps, if there is too much. Returns the bytes."""
        return 0

    def shrink_fully(self) -> int:
        """Returns all unused space; may take long."""
        return 0

    def measure_evidence(self) -> Evidence:
        # A part at a time: no log has to be kept for it.
        last = self._number("last_evidence")
        total = Evidence()
        for after in range(0, last, MEASURED_AT_ONCE):
            total += self._measured("evidence_between", after=after, upto=min(last, after + MEASURED_AT_ONCE))
        return total

    def expired_evidence(self, before: int) -> Evidence:
        """Of sessions that ended before."""
        return self._measured("count_expired", before=before)

    def expire_evidence(self, before: int, limit: int = 500) -> int:
        """Delete the text of some of it; returns how many events. 0: none is left."""
        after = self._expired_until
        rows = self._rows("expired_events", after=after, before=before, limit=limit)
        self._expired_until = rows[-1]["updated_at_epoch"] if rows else max(after, before)
        ids = [row["id"] for row in rows]
        return self._writer.run(lambda db: forget.expire(db, ids, self._clock())) if ids else 0

    def trim_evidence(self, excess: int) -> Evidence:
        """Delete the text of the oldest until this many characters are freed."""
        freed, after = Evidence(), 0
        while freed.characters < excess:
            rows = self._rows("oldest_evidence", after=after, limit=EMPTIED_AT_ONCE)
            if not rows:
                break
            after = rows[-1]["updated_at_epoch"]
            freed += self._empty(rows, excess - freed.characters)
        return freed

    @transaction
    def _empty(self, db: Connection, rows: list[Any], excess: int) -> Evidence:
        ids, characters = [], 0
        for row in rows:
            if characters >= excess:
                break
            ids.append(row["id"])
            characters += row["characters"]
        return Evidence(forget.expire(db, ids, self._clock()), characters)

    def _measured(self, query: str, **parameters: Value) -> Evidence:
        (row,) = self._rows(query, **parameters)
        return Evidence(**row)
