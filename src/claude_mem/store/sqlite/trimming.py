"""How much evidence there is, and which goes when it is too old or too much: the raw text of what was done,
never what was learnt of it, and never what nobody has observed yet."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from claude_mem.model.clock import Clock
from claude_mem.store.sqlite import forgetting
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.readers import Readers
from claude_mem.store.sqlite.writer import Writer

WEIGHED_AT_ONCE = 5_000
EMPTIED_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Evidence:
    events: int = 0
    characters: int = 0

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(self.events + other.events, self.characters + other.characters)


class SqliteEvidence:
    """Any thread may call it; any call may block. Raises StoreError."""

    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        self._readers, self._writer, self._clock = readers, writer, clock

    def weigh(self) -> Evidence:
        """All of it. Reads all there is, a part at a time: no log has to be kept for it."""
        with self._readers.read() as db:
            (last,) = execute(db, "last_evidence").fetchone()
        total = Evidence()
        for after in range(0, last, WEIGHED_AT_ONCE):
            with self._readers.read() as db:
                row = execute(
                    db, "evidence_between", after=after, upto=min(last, after + WEIGHED_AT_ONCE)
                ).fetchone()
            total += Evidence(row["events"], row["characters"])
        return total

    def expired(self, before: int) -> Evidence:
        """That of sessions from before some time."""
        with self._readers.read() as db:
            row = execute(db, "count_expired", before=before).fetchone()
        return Evidence(row["events"], row["characters"])

    def trim(self, excess: int) -> Evidence:
        """Empty the oldest until so many characters are gone."""
        gone, after = Evidence(), 0
        while gone.characters < excess:
            with self._readers.read() as db:
                rows = execute(db, "oldest_evidence", after=after, limit=EMPTIED_AT_ONCE).fetchall()
            if not rows:
                break
            after = rows[-1]["updated_at_epoch"]
            gone += self._writer.run(lambda db: _empty(db, rows, excess - gone.characters, self._clock()))  # noqa: B023
        return gone


def _empty(db: sqlite3.Connection, rows: list[sqlite3.Row], excess: int, now: int) -> Evidence:
    ids, characters = [], 0
    for row in rows:
        if characters >= excess:
            break
        ids.append(row["id"])
        characters += row["characters"]
    return Evidence(forgetting.expire(db, ids, now), characters)
