"""A look at a database from outside: nothing is made, migrated or changed, whatever state it is in."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from claude_mem.model.errors import StoreError, StoreForeign, StoreTooNew
from claude_mem.model.jobs import QueueFigures
from claude_mem.ports.housekeeping import Room
from claude_mem.store import migrate
from claude_mem.store.sqlite import (
    backup,
    embedding,
    header,
    indexing,
    overview,
    quarantine,
    schema,
    tally,
    vacuuming,
)
from claude_mem.store.sqlite.connection import open_reader
from claude_mem.store.sqlite.faults import translated
from claude_mem.store.sqlite.tally import Today

DAY_MS = 24 * 60 * 60 * 1000
LOOK_BACK_MS = 35 * DAY_MS

SOMEBODY_ELSES = "it holds somebody else's tables"


@dataclass(frozen=True, slots=True)
class Survey:
    path: Path
    exists: bool = False
    bytes: int = 0
    schema: int | None = None
    known_schema: int = 0
    problem: str | None = None  # damaged, foreign, too new or unreadable, as a sentence
    checked: bool = False  # read through, not only looked at
    figures: QueueFigures | None = None
    last_event_at: int | None = None
    last_observation_at: int | None = None
    spent_today: Today | None = None
    unindexed: int | None = None  # rows that full text does not find yet
    unembedded: int | None = None  # memories without a vector
    room: Room | None = None
    grows: float | None = None  # bytes a day, by the size of its backups; None: not known yet
    backups: int = 0
    newest_backup_at: int | None = None


def look(path: Path, backups: Path, now: int, *, thorough: bool = True) -> Survey:
    known = schema.migrations()
    kept = backup.found(backups)
    facts = Survey(
        path,
        known_schema=len(known),
        backups=len(kept),
        newest_backup_at=_at(kept[0]) if kept else None,
    )
    try:
        found = _with_database(facts, known, now, thorough)
        return replace(found, grows=_grows(found.room.size, kept, now)) if found.room else found
    except StoreError as error:
        return replace(facts, exists=True, problem=str(error))


def foreign(path: Path) -> str | None:
    """That the file is somebody else's, as a sentence; None: it is not, or cannot be told."""
    try:
        found = header.read(path)
    except (StoreError, OSError):
        return None
    is_foreign = found is not None and isinstance(migrate.plan(found, schema.migrations()), migrate.Foreign)
    return str(StoreForeign(str(path), SOMEBODY_ELSES)) if is_foreign else None


def _with_database(facts: Survey, known: tuple[migrate.Migration, ...], now: int, thorough: bool) -> Survey:
    path = facts.path
    with translated(path):
        found = header.read(path)
        if found is None:
            return facts
        size = path.stat().st_size
    match migrate.plan(found, known):
        case migrate.Foreign():
            raise StoreForeign(str(path), SOMEBODY_ELSES)
        case migrate.TooNew():
            raise StoreTooNew(str(path), found=found.version, known=len(known))
        case migrate.Create():
            return facts
    facts = replace(facts, exists=True, bytes=size, schema=found.version)
    if found.version < len(known):
        return facts  # older: the worker migrates it at its next start, until then our queries do not fit
    with closing(open_reader(path)) as db, translated(path):
        checked = thorough and size <= quarantine.CHECK_UP_TO
        if checked:
            quarantine.check(db, path)
        return replace(
            facts,
            checked=checked,
            figures=overview.figures(db),
            last_event_at=overview.last_event_at(db),
            last_observation_at=tally.last_observation_at(db),
            spent_today=tally.spent_today(db, now),
            unindexed=indexing.waiting(db),
            unembedded=embedding.waiting(db),
            room=vacuuming.room(db, path),
        )


def _grows(size: int, kept: Sequence[backup.Backup], now: int) -> float | None:
    """By the oldest copy of the last weeks: a single day says little, and a year ago is another time."""
    then = [one for one in kept if DAY_MS <= now - _at(one) <= LOOK_BACK_MS]
    if not then:
        return None
    try:
        before = then[-1].path.stat().st_size
    except OSError:
        return None
    return (size - before) / ((now - _at(then[-1])) / DAY_MS)


def _at(one: backup.Backup) -> int:
    return int(one.at.timestamp() * 1000)
