"""Restores a backup, at the user's request or because the database is damaged.
The previous database is moved aside, not deleted."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from claude_mem.files import sync
from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreDamaged, StoreError
from claude_mem.store.sqlite import backup, schema
from claude_mem.store.sqlite.connection import SQLITE_ERRORS, queries, translated
from claude_mem.store.sqlite.database_files import (
    beside,
    copy,
    draft_of,
    is_plain,
    private_directory,
    put_in_place,
    require_plain,
    require_sound,
)
from claude_mem.store.values import Recovered, Restored

CHECK_UP_TO = 64 * 1024 * 1024
"""A larger file is not checked completely at the worker's start, because callers are waiting."""
THOROUGH_UP_TO = 32 * 1024 * 1024


def restore(database: Path, *, clock: Clock, backups: Path, source: Path | None = None) -> Restored:
    """Only while no store has the database open. Without a source, the newest complete backup."""
    selected = source or newest_whole(backups)
    if selected is None:
        raise StoreError(f"There is no backup in {backups} that can be restored.")
    backup.verify_backup(selected, schema.readable())
    return replace_database(database, backups / f"{backup.REPLACED}-{backup.stamp(clock())}", selected)


def newest_whole(backups: Path) -> Path | None:
    readable = schema.readable()
    for one in backup.find_backups(backups):
        try:
            backup.verify_backup(one.path, readable)
        except StoreError:
            continue  # damaged, unreadable or from a newer version: perhaps the one before it
        return one.path
    return None


def quarantine(database: Path, folder: Path, *, leave: bool) -> Path | None:
    """Move a database and its log into a directory of their own; `leave` its name to be replaced at once."""
    files = [path for path in _files(database) if is_plain(path)]
    if not files:
        return None
    private_directory(folder.parent)
    while folder.exists():
        folder = folder.with_name(folder.name + backup.AGAIN)
    private_directory(folder)
    for path in files:
        if leave and path == database:
            _link(path, folder / path.name)
        else:
            path.rename(folder / path.name)
        (folder / path.name).chmod(0o600)
    sync(folder)
    return folder


def replace_database(database: Path, folder: Path, source: Path) -> Restored:
    """A verified backup takes the database's name; without room for it, nothing is changed."""
    require_plain(database)
    draft = draft_of(database)
    with translated(database):
        copy(source, draft)
        moved = quarantine(database, folder, leave=True)
        put_in_place(draft, database)
    return Restored(restored_from=source, moved_aside=moved)


def _link(path: Path, second: Path) -> None:
    """A second name: there is never a moment without a database, so a kill between the two loses nothing."""
    try:
        os.link(path, second)
    except OSError:  # a file system without hard links
        copy(path, second)


def _files(database: Path) -> tuple[Path, ...]:
    """The files to move, with the database last: until then, any process reaches the same conclusion about
    it."""
    return tuple(beside(database, suffix) for suffix in ("-shm", "-wal", "-journal", ""))


class _Anything(dict[str, int]):
    def __missing__(self, name: str) -> int:
        return 0


def check_schema(db: sqlite3.Connection, path: Path) -> None:
    """Has SQLite prepare every statement that we use: a page check does not look at names."""
    try:
        for statement in queries().values():
            db.execute(f"EXPLAIN {statement}", _Anything())
    except SQLITE_ERRORS as error:
        raise StoreDamaged(str(path), str(error)) from error


def check(db: sqlite3.Connection, path: Path) -> None:
    """Whether indexes and rows agree is looked at as well where that is quick; else it is noticed only when a
    row is to be changed."""
    with translated(path):
        is_small = path.stat().st_size <= THOROUGH_UP_TO
        require_sound(db, path, "integrity_check" if is_small else "quick_check")


def recover(database: Path, *, clock: Clock, backups: Path, detail: str) -> Recovered:
    """Only while no store has the database open. Afterwards it can be opened, with what could be saved."""
    folder = backups / f"{backup.DAMAGED}-{backup.stamp(clock())}"
    source = newest_whole(backups)
    if source is None:
        with translated(database):
            return Recovered(quarantine(database, folder, leave=False), None, detail)
    return Recovered(replace_database(database, folder, source).moved_aside, source, detail)
