"""Restores a backup: at the user's request, or because the database is damaged.
What was there is moved aside, not deleted."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from msgspec import Struct

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreDamaged, StoreError
from claude_mem.store.sqlite import backup, schema
from claude_mem.store.sqlite.connection import SQLITE_ERRORS, queries, translated
from claude_mem.store.sqlite.database_files import (
    copy,
    draft_of,
    is_plain,
    private_directory,
    put_in_place,
    require_plain,
    sync,
)


class Restored(Struct, frozen=True):
    restored_from: Path
    moved_aside: Path | None  # the directory the former database is in; None: there was none


def restore(database: Path, *, clock: Clock, backups: Path, source: Path | None = None) -> Restored:
    """Only while no store has the database open. Without a source, the newest backup that is whole."""
    chosen = source or newest_whole(backups)
    if chosen is None:
        raise StoreError(f"There is no backup in {backups} that can be restored.")
    backup.verify_backup(chosen, schema.readable())
    return put_back(database, backups / f"{backup.REPLACED}-{backup.stamp(clock())}", chosen)


def newest_whole(backups: Path) -> Path | None:
    readable = schema.readable()
    for one in backup.find_backups(backups):
        try:
            backup.verify_backup(one.path, readable)
        except StoreError:
            continue  # damaged, unreadable or from a newer version: perhaps the one before it
        return one.path
    return None


def set_aside(database: Path, aside: Path, *, leave: bool) -> Path | None:
    """Move a database and its log into a directory of their own; `leave` its name to be replaced at once."""
    there = [path for path in _files(database) if is_plain(path)]
    if not there:
        return None
    private_directory(aside.parent)
    while aside.exists():
        aside = aside.with_name(aside.name + backup.AGAIN)
    private_directory(aside)
    for path in there:
        if leave and path == database:
            _link(path, aside / path.name)
        else:
            path.rename(aside / path.name)
        (aside / path.name).chmod(0o600)
    sync(aside)
    return aside


def put_back(database: Path, aside: Path, source: Path) -> Restored:
    """A verified backup takes the database's name; without room for it, nothing is changed."""
    require_plain(database)
    draft = draft_of(database)
    with translated(database):
        copy(source, draft)
        moved = set_aside(database, aside, leave=True)
        put_in_place(draft, database)
    return Restored(restored_from=source, moved_aside=moved)


def _link(path: Path, second: Path) -> None:
    """A second name: there is never a moment without a database, so a kill between the two loses nothing."""
    try:
        os.link(path, second)
    except OSError:  # a file system without hard links
        copy(path, second)


def _files(database: Path) -> tuple[Path, ...]:
    """The database last: as long as it has its name, whoever finds it will come to the same conclusion."""
    return tuple(database.with_name(database.name + suffix) for suffix in ("-shm", "-wal", "-journal", ""))


CHECK_UP_TO = 64 * 1024 * 1024
"""A larger file is not read through while somebody waits for the worker to start."""
THOROUGH_UP_TO = 32 * 1024 * 1024


class Recovered(Struct, frozen=True):
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
    except SQLITE_ERRORS as error:
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
    aside = backups / f"{backup.DAMAGED}-{backup.stamp(clock())}"
    source = newest_whole(backups)
    if source is None:
        with translated(database):
            return Recovered(set_aside(database, aside, leave=False), None, detail)
    return Recovered(put_back(database, aside, source).moved_aside, source, detail)
