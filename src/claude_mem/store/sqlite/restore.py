"""Putting a backup in the database's place: verified first; what was there is moved aside, not deleted."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreError
from claude_mem.store.sqlite import asides, backup, schema
from claude_mem.store.sqlite.faults import translated
from claude_mem.store.sqlite.files import (
    copy,
    draft_of,
    is_plain,
    private_directory,
    put_in_place,
    require_plain,
    sync,
)


@dataclass(frozen=True, slots=True)
class Restored:
    restored_from: Path
    moved_aside: Path | None  # the directory the former database is in; None: there was none


def restore(database: Path, *, clock: Clock, backups: Path, source: Path | None = None) -> Restored:
    """Only while no store has the database open. Without a source, the newest backup that is whole."""
    chosen = source or newest_whole(backups)
    if chosen is None:
        raise StoreError(f"There is no backup in {backups} that can be restored.")
    backup.verify(chosen, known=len(schema.migrations()))
    return put_back(database, backups / f"{asides.REPLACED}-{backup.stamp(clock())}", chosen)


def newest_whole(backups: Path) -> Path | None:
    known = len(schema.migrations())
    for one in backup.found(backups):
        try:
            backup.verify(one.path, known)
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
        aside = aside.with_name(aside.name + asides.AGAIN)
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
