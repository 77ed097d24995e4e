"""Inspects a database file without a worker: for doctor, and for the figures of stats."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from claude_mem.model.clock import DAY_MS
from claude_mem.model.errors import StoreError, StoreForeign
from claude_mem.model.structs import replace
from claude_mem.store.relational import statistics
from claude_mem.store.sqlite import backup, database_files, recovery, schema, upkeep
from claude_mem.store.sqlite.connection import open_reader, translated
from claude_mem.store.values import Survey, UsageCounts


def count_since(path: Path, since: int, now: int) -> UsageCounts:
    """Of a database of this version's schema. Both times in epoch milliseconds."""
    with closing(open_reader(path)) as db, translated(path):
        db.execute("BEGIN")  # one view: figures that belong together add up
        return statistics.count_since(db, since, now)


LOOK_BACK_MS = 35 * DAY_MS


def survey_database(path: Path, backups: Path, now: int, *, thorough: bool = True) -> Survey:
    known = schema.migrations()
    copies = backup.find_backups(backups)
    facts = Survey(
        path,
        known_schema=schema.newest(known),
        backups=len(copies),
        newest_backup_at=_at(copies[0]) if copies else None,
    )
    try:
        found = _with_database(facts, known, now, thorough)
        return replace(found, grows=_grows(found.room.size, copies, now)) if found.room else found
    except StoreError as error:
        return replace(facts, exists=True, problem=str(error))


def foreign_owner(path: Path) -> str | None:
    """Whose file it is, as a sentence, if it is not ours; None: it is ours, or that is unknown."""
    try:
        schema.require_readable(path, database_files.read_header(path), schema.migrations())
    except StoreForeign as error:
        return str(error)
    except (StoreError, OSError):
        return None
    return None


def _with_database(facts: Survey, known: tuple[schema.Migration, ...], now: int, thorough: bool) -> Survey:
    path = facts.path
    with translated(path):
        found = schema.require_readable(path, database_files.read_header(path), known)
        if found is None:
            return facts
        size = path.stat().st_size
    facts = replace(facts, exists=True, bytes=size, schema=found.version)
    if found.version < schema.newest(known):
        return facts  # older: the worker migrates it at its next start, until then our queries do not fit
    with closing(open_reader(path)) as db, translated(path):
        checked = thorough and size <= recovery.CHECK_UP_TO
        if checked:
            recovery.check(db, path)
        return replace(
            statistics.surveyed(db, facts, now),
            checked=checked,
            room=upkeep.size(db, path),
        )


def _grows(size: int, copies: Sequence[backup.Backup], now: int) -> float | None:
    """The growth since the oldest copy of the last weeks, because one day is too short and a year too
    long."""
    then = [one for one in copies if DAY_MS <= now - _at(one) <= LOOK_BACK_MS]
    if not then:
        return None
    try:
        before = then[-1].path.stat().st_size
    except OSError:
        return None
    return (size - before) / ((now - _at(then[-1])) / DAY_MS)


def _at(one: backup.Backup) -> int:
    return int(one.at.timestamp() * 1000)
