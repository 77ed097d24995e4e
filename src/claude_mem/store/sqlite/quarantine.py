"""What to do with a damaged database: kept aside, replaced by the newest whole backup, and told."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreDamaged
from claude_mem.store.sqlite import asides, backup
from claude_mem.store.sqlite.faults import FAULTS, translated
from claude_mem.store.sqlite.queries import queries
from claude_mem.store.sqlite.restore import newest_whole, put_back, set_aside

CHECK_UP_TO = 64 * 1024 * 1024
"""A larger file is not read through while somebody waits for the worker to start."""
THOROUGH_UP_TO = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Recovered:
    """What the user is to be told."""

    quarantined: Path | None  # the directory the damaged files are in
    restored_from: Path | None  # None: no whole backup was there, so the database was started anew
    detail: str  # what was wrong


class _Anything(dict[str, int]):
    def __missing__(self, name: str) -> int:
        return 0


def check_schema(db: sqlite3.Connection, path: Path) -> None:
    """Have SQLite understand all that we are going to ask; a page check does not look at names."""
    try:
        for statement in queries().values():
            db.execute(f"EXPLAIN {statement}", _Anything())
    except FAULTS as error:
        raise StoreDamaged(str(path), str(error)) from error


def check(db: sqlite3.Connection, path: Path) -> None:
    """Read the whole database through; StoreDamaged says what is wrong with it. Whether indexes and rows
    agree is looked at as well where that is quick; else it is noticed only when a row is to be changed."""
    with translated(path):
        look = "integrity_check" if path.stat().st_size <= THOROUGH_UP_TO else "quick_check"
        (verdict,) = db.execute(f"PRAGMA {look}(1)").fetchone()
    if verdict != "ok":
        raise StoreDamaged(str(path), verdict)


def recover(database: Path, *, clock: Clock, backups: Path, detail: str) -> Recovered:
    """Only while no store has the database open. Afterwards it can be opened, with what could be saved."""
    aside = backups / f"{asides.DAMAGED}-{backup.stamp(clock())}"
    source = newest_whole(backups)
    if source is None:
        with translated(database):
            return Recovered(set_aside(database, aside, leave=False), None, detail)
    return Recovered(put_back(database, aside, source).moved_aside, source, detail)
