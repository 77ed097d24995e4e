"""Backups of the database: when one is due, how it is made, which are kept; and databases that were
moved aside."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct

from claude_mem.model.clock import DAY_MS
from claude_mem.model.errors import StoreError
from claude_mem.model.text import lazy_pattern
from claude_mem.store.sqlite import database_files
from claude_mem.store.sqlite.connection import open_draft, open_reader, open_sealed, translated
from claude_mem.store.sqlite.database_files import (
    DatabaseHeader,
    is_plain,
    new_file,
    private_directory,
    put_in_place,
    refuse_link,
    require_sound,
)

DAMAGED = "quarantine"
REPLACED = "replaced"
AGAIN = "-again"
KEEP_QUARANTINED = 3
"""Of each kind: each is a full copy of a database that was damaged or replaced."""

_STAMP = "%Y%m%d-%H%M%S"
_QUARANTINE_NAME = lazy_pattern(rf"({DAMAGED}|{REPLACED})-(\d{{8}}-\d{{6}})((?:{AGAIN})*)")


def surplus_names(names: Iterable[str]) -> list[str]:
    """The names of expired backups: all but the newest of each kind, by the time in the name. Other names are
    ignored."""
    matching = [match for match in map(_QUARANTINE_NAME.fullmatch, names) if match]
    matching.sort(key=lambda match: (match[2], len(match[3])), reverse=True)
    return [
        match[0]
        for kind in (DAMAGED, REPLACED)
        for match in [one for one in matching if one[1] == kind][KEEP_QUARANTINED:]
    ]


def surplus_quarantined(backups: Path) -> list[Path]:
    names = surplus_names(path.name for path in backups.iterdir() if is_quarantined(path))
    return [backups / name for name in names]


def is_quarantined(path: Path) -> bool:
    """A folder into which we have moved a database; by its own name, not by where a link leads."""
    return _QUARANTINE_NAME.fullmatch(path.name) is not None and path.is_dir() and not path.is_symlink()


def quarantined_at(folder: Path) -> int | None:
    """When, in epoch milliseconds, by its name."""
    match = _QUARANTINE_NAME.fullmatch(folder.name)
    at = _time_in(match[2]) if match else None
    return int(at.timestamp() * 1000) if at else None


def _time_in(name: str) -> datetime | None:
    """None: digits, but no date, so not named by us."""
    try:
        return datetime.strptime(name, _STAMP).replace(tzinfo=UTC)
    except ValueError:
        return None


KEEP_DAYS = 7
KEEP_BEFORE_MIGRATION = 2

_BACKUP_NAME = lazy_pattern(r"claude-mem-(\d{8}-\d{6})(-pre-migration-\d+-to-\d+)?\.db")
_DRAFT_PREFIX = ".claude-mem-draft"
_DRAFT_IS_DEAD_AFTER_S = 60 * 60


class Backup(Struct, frozen=True):
    path: Path
    at: datetime
    before_migration: bool


def make(database: Path, backups: Path, now: int) -> Path:
    """Copy the database as it is at this moment, while others go on reading and writing it."""
    return _make(database, backups, f"claude-mem-{stamp(now)}.db", now)


def before_migration(database: Path, backups: Path, now: int, version: int, target: int) -> Path:
    name = f"claude-mem-{stamp(now)}-pre-migration-{version}-to-{target}.db"
    made = _make(database, backups, name, now)
    for old in _before_migrations(backups)[KEEP_BEFORE_MIGRATION:]:
        old.path.unlink(missing_ok=True)
    return made


def make_if_due(database: Path, backups: Path, now: int) -> Path | None:
    """Makes a backup if the last one is a day old, and keeps the last of each of the newest seven days."""
    at = _instant(now)
    # Between a day ago and now: a name from the future (the clock has jumped back) must not put it off.
    if any(0 <= (at - one.at).total_seconds() * 1000 < DAY_MS for one in _dailies(backups)):
        return None
    made = make(database, backups, now)
    for path in surplus_backups(backups):
        if path != made:
            path.unlink(missing_ok=True)
    for folder in surplus_quarantined(backups):
        shutil.rmtree(folder, ignore_errors=True)  # what cannot be removed stays until the next time
    return made


def surplus_backups(backups: Path) -> list[Path]:
    """The expired backups."""
    by_day: dict[str, list[Backup]] = {}
    for one in _dailies(backups):
        by_day.setdefault(f"{one.at:%Y%m%d}", []).append(one)
    days = enumerate(by_day.values())
    daily = [one for number, same in days for one in same[0 if number >= KEEP_DAYS else 1 :]]
    return [one.path for one in (*daily, *_before_migrations(backups)[KEEP_BEFORE_MIGRATION:])]


def find_backups(backups: Path) -> list[Backup]:
    """All backups, newest first. Links are ignored."""
    if backups.is_symlink() or not backups.is_dir():
        return []
    named = ((path, _BACKUP_NAME.fullmatch(path.name)) for path in backups.iterdir() if is_plain(path))
    found = [
        Backup(path, at, before_migration=match[2] is not None)
        for path, match in named
        if match and (at := _time_in(match[1]))
    ]
    return sorted(found, key=lambda one: (one.at, one.path.name), reverse=True)


def verify_backup(path: Path, readable: range) -> DatabaseHeader:
    """Raises StoreDamaged or StoreError unless it is a complete claude-mem database that this version can
    read."""
    refuse_link(path)
    with translated(path):
        header = database_files.read_header(path)
    if header is None or not header.is_claude_mem or header.version not in readable:
        raise StoreError(f"{path} is not a backup that this version can read.")
    with closing(open_sealed(path)) as db, translated(path):
        require_sound(db, path)
    return header


def stamp(now: int) -> str:
    return f"{_instant(now):{_STAMP}}"


def _make(database: Path, backups: Path, name: str, now: int) -> Path:
    with translated(database):
        private_directory(backups)
        _clear_dead_drafts(backups, now)
        # A unique name: the worker may be making its daily backup while a user makes another.
        draft = backups / f"{_DRAFT_PREFIX}-{os.getpid()}-{secrets.token_hex(4)}.db"
        try:
            new_file(draft)
            _copy(database, draft)
            put_in_place(draft, backups / name)
        except BaseException:
            for left_over in backups.glob(f"{draft.name}*"):
                left_over.unlink(missing_ok=True)
            raise
    return backups / name


def _copy(database: Path, draft: Path) -> None:
    with closing(open_reader(database)) as source, closing(open_draft(draft)) as target:
        source.backup(target)
        target.execute("PRAGMA journal_mode = DELETE")  # one file, complete by itself
        require_sound(target, database)


def _clear_dead_drafts(backups: Path, now: int) -> None:
    """Drafts that a killed process left behind; a young one may still be in use."""
    for draft in backups.glob(f"{_DRAFT_PREFIX}*"):
        with suppress(FileNotFoundError):  # it has just been finished, or cleared by somebody else
            if is_plain(draft) and draft.lstat().st_mtime < now / 1000 - _DRAFT_IS_DEAD_AFTER_S:
                draft.unlink()


def _dailies(backups: Path) -> list[Backup]:
    return [one for one in find_backups(backups) if not one.before_migration]


def _before_migrations(backups: Path) -> list[Backup]:
    return [one for one in find_backups(backups) if one.before_migration]


def _instant(now: int) -> datetime:
    return datetime.fromtimestamp(now // 1000, UTC)
