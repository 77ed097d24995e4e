"""Copies of the whole database: when one is due, how it is made, which ones are kept."""

from __future__ import annotations

import re
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from claude_mem.model.errors import StoreDamaged, StoreError
from claude_mem.store.migrate import Found
from claude_mem.store.sqlite import header
from claude_mem.store.sqlite.connection import open_draft, open_reader, open_sealed
from claude_mem.store.sqlite.faults import translated
from claude_mem.store.sqlite.files import is_plain, new_file, private_directory, put_in_place, refuse_link

DAY_MS = 24 * 60 * 60 * 1000
KEEP_DAYS = 7
KEEP_BEFORE_MIGRATION = 2

_STAMP = "%Y%m%d-%H%M%S"
_NAME = re.compile(r"claude-mem-(\d{8}-\d{6})(-pre-migration-\d+-to-\d+)?\.db")
_DRAFT = ".claude-mem-draft"


@dataclass(frozen=True, slots=True)
class Backup:
    path: Path
    at: datetime
    before_migration: bool


def make(database: Path, backups: Path, now: int) -> Path:
    """Copy the database as it is at this moment, while others go on reading and writing it."""
    return _make(database, backups, f"claude-mem-{stamp(now)}.db")


def before_migration(database: Path, backups: Path, now: int, version: int, target: int) -> Path:
    made = _make(database, backups, f"claude-mem-{stamp(now)}-pre-migration-{version}-to-{target}.db")
    for old in [one for one in found(backups) if one.before_migration][KEEP_BEFORE_MIGRATION:]:
        old.path.unlink()
    return made


def make_if_due(database: Path, backups: Path, now: int) -> Path | None:
    """One a day, and of the older ones the last of each of the newest seven days."""
    at = _instant(now)
    # Between a day ago and now: a name from the future (the clock has jumped back) must not put it off.
    if any(0 <= (at - one.at).total_seconds() * 1000 < DAY_MS for one in _dailies(backups)):
        return None
    made = make(database, backups, now)
    by_day: dict[str, list[Backup]] = {}
    for one in _dailies(backups):
        by_day.setdefault(f"{one.at:%Y%m%d}", []).append(one)
    for number, same_day in enumerate(by_day.values()):
        for one in same_day[0 if number >= KEEP_DAYS else 1 :]:
            if one.path != made:
                one.path.unlink()
    return made


def found(backups: Path) -> list[Backup]:
    """All there are, the newest first. A link is none of ours, wherever it leads."""
    if backups.is_symlink() or not backups.is_dir():
        return []
    named = ((path, _NAME.fullmatch(path.name)) for path in backups.iterdir() if is_plain(path))
    all_ = []
    for path, match in named:
        if match:
            try:
                at = datetime.strptime(match[1], _STAMP).replace(tzinfo=UTC)
            except ValueError:
                continue  # digits, but no date: not named by us
            all_.append(Backup(path, at, before_migration=match[2] is not None))
    return sorted(all_, key=lambda one: (one.at, one.path.name), reverse=True)


def verify(path: Path, known: int) -> Found:
    """Raises StoreDamaged or StoreError unless it is a whole database of ours that this version can read."""
    refuse_link(path)
    with translated(path):
        says = header.read(path)
    if says is None or not says.ours or says.version > known:
        raise StoreError(f"{path} is not a backup that this version can read.")
    with closing(open_sealed(path)) as db, translated(path):
        (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
    if verdict != "ok":
        raise StoreDamaged(str(path), verdict)
    return says


def stamp(now: int) -> str:
    return f"{_instant(now):{_STAMP}}"


def _make(database: Path, backups: Path, name: str) -> Path:
    with translated(database):
        private_directory(backups)
        for left_over in backups.glob(f"{_DRAFT}*"):
            left_over.unlink()
        draft = backups / f"{_DRAFT}.db"
        new_file(draft)
        with closing(open_reader(database)) as source, closing(open_draft(draft)) as target:
            source.backup(target)
            target.execute("PRAGMA journal_mode = DELETE")  # one file, complete by itself
            (verdict,) = target.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            draft.unlink()
            raise StoreDamaged(str(database), verdict)
        put_in_place(draft, backups / name)
    return backups / name


def _dailies(backups: Path) -> list[Backup]:
    return [one for one in found(backups) if not one.before_migration]


def _instant(now: int) -> datetime:
    return datetime.fromtimestamp(now // 1000, UTC)
