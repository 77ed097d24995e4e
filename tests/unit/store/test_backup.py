"""Backups: made while in use, kept for a week, put back without losing what was there."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.contracts.store_contract import HOUR, NOON, Events, SettableClock, new_events

from claude_mem.model.errors import StoreDamaged, StoreError, StoreForeign
from claude_mem.store.sqlite import SqliteStore, backup, recovery
from claude_mem.store.sqlite.backup import surplus_names

DAY = 24 * HOUR
Open = Callable[[], SqliteStore]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def jobs_in(path: Path) -> int:
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as db:
        return int(db.execute("SELECT COUNT(*) FROM pending_messages").fetchone()[0])


def test_a_backup_is_one_whole_file_with_all_that_was_committed(
    open_store: Open, events: Events, backups: Path
) -> None:
    with open_store() as store:
        store.events.accept(new_events(events.tool(), events.tool()))
        made = store.upkeep.backup()
        assert names(backups) == ["claude-mem-20251009-085320.db"]
        assert jobs_in(made) == 2


def test_a_backup_killed_half_way_leaves_nothing_an_hour_later(open_store: Open, backups: Path) -> None:
    backups.mkdir(parents=True)
    for left_over in (".claude-mem-draft-7-ab.db", ".claude-mem-draft-7-ab.db-journal"):
        (backups / left_over).write_bytes(b"half")
        os.utime(backups / left_over, (NOON / 1000 - 3601, NOON / 1000 - 3601))
    with open_store() as store:
        store.upkeep.backup()
    assert names(backups) == ["claude-mem-20251009-085320.db"]


def test_a_backup_leaves_another_that_is_being_made_alone(
    open_store: Open, events: Events, database: Path, backups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when the daily one is due while somebody asks for one: the second begins before the first ends."""
    whole = backup._copy
    inner: list[Path] = []

    def copy(source: Path, draft: Path) -> None:
        monkeypatch.setattr(backup, "_copy", whole)
        inner.append(backup.make(database, backups, NOON + 1000))
        assert draft.exists()
        whole(source, draft)

    with open_store() as store:
        store.events.accept(new_events(events.tool()))
        monkeypatch.setattr(backup, "_copy", copy)
        outer = store.upkeep.backup()
    assert names(backups) == [outer.name, *(path.name for path in inner)]
    assert [jobs_in(path) for path in (outer, *inner)] == [1, 1]


def test_eight_backups_at_once_are_all_whole(open_store: Open, events: Events, backups: Path) -> None:
    with open_store() as store:
        store.events.accept(new_events(*(events.tool(text="x" * 5000) for _ in range(200))))
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda n: backup.make(store.path, backups, NOON + n % 4 * 1000), range(24)))
    assert names(backups) == sorted({path.name for path in made})
    assert [jobs_in(path) for path in sorted(set(made))] == [200] * 4


def test_a_backup_that_fails_leaves_no_draft(
    open_store: Open, backups: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(source: Path, draft: Path) -> None:
        draft.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(backup, "_copy", full)
    with open_store() as store, pytest.raises(StoreError):
        store.upkeep.backup()
    assert names(backups) == []


def test_one_backup_a_day_is_made(open_store: Open, clock: SettableClock) -> None:
    with open_store() as store:
        assert store.upkeep.backup_if_due() is not None
        clock.now = NOON + DAY - 1000
        assert store.upkeep.backup_if_due() is None
        clock.now = NOON + DAY
        assert store.upkeep.backup_if_due() is not None


def test_a_clock_that_jumped_back_puts_no_backup_off(open_store: Open, clock: SettableClock) -> None:
    with open_store() as store:
        store.upkeep.backup()
        clock.now = NOON - 30 * DAY
        assert store.upkeep.backup_if_due() is not None
        assert store.upkeep.backup_if_due() is None, "and there is no storm of them either"


def test_the_last_backup_of_each_of_the_newest_seven_days_is_kept(
    open_store: Open, clock: SettableClock, backups: Path
) -> None:
    with open_store() as store:
        for number in range(8):
            clock.now = NOON + number * 26 * HOUR
            assert store.upkeep.backup_if_due()
            clock.now += HOUR
            store.upkeep.backup()
        clock.now = NOON + 8 * 26 * HOUR
        assert store.upkeep.backup_if_due()
    assert names(backups) == [
        f"claude-mem-202510{at}5320.db"
        for at in ("11-13", "12-15", "13-17", "14-19", "15-21", "16-23", "18-00")
    ]


def test_cleaning_up_follows_no_link_and_touches_nothing_of_others(
    open_store: Open, clock: SettableClock, backups: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious.db"
    precious.write_text("precious")
    backups.mkdir(parents=True)
    (backups / "claude-mem-20200101-000000.db").symlink_to(precious)
    (backups / "my-own-copy.db").write_text("mine")
    with open_store() as store:
        for day in range(9):
            clock.now = NOON + day * DAY
            store.upkeep.backup_if_due()
    assert precious.read_text() == "precious"
    assert {"claude-mem-20200101-000000.db", "my-own-copy.db"} < set(names(backups))
    assert len(names(backups)) == 2 + 7


def test_backups_that_are_a_link_are_refused(open_store: Open, backups: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    with open_store() as store:
        backups.symlink_to(tmp_path / "elsewhere")
        with pytest.raises(StoreForeign):
            store.upkeep.backup()
    assert names(tmp_path / "elsewhere") == []


def test_restoring_the_newest_puts_what_was_there_aside(
    open_store: Open, events: Events, clock: SettableClock, database: Path, backups: Path
) -> None:
    with open_store() as store:
        store.events.accept(new_events(events.tool()))
        store.upkeep.backup()
        store.events.accept(new_events(events.tool()))
    restored = recovery.restore(database, clock=clock, backups=backups)
    assert restored.restored_from == backups / "claude-mem-20251009-085320.db"
    assert restored.moved_aside is not None
    assert jobs_in(restored.moved_aside / "claude-mem.db") == 2
    with open_store() as store:
        assert store.queue.figures().ready == 1
        assert store.recovered is None


def test_restoring_skips_a_damaged_backup_for_the_one_before(
    open_store: Open, clock: SettableClock, database: Path, backups: Path
) -> None:
    with open_store() as store:
        whole = store.upkeep.backup()
    (backups / "claude-mem-20300101-000000.db").write_bytes(b"SQLite format 3\0" + bytes(5000))
    (backups / "claude-mem-20300102-000000.db").write_bytes(b"")
    assert recovery.restore(database, clock=clock, backups=backups).restored_from == whole


def test_restoring_from_a_damaged_file_or_a_link_changes_nothing(
    open_store: Open, clock: SettableClock, database: Path, backups: Path, tmp_path: Path
) -> None:
    with open_store() as store:
        whole = store.upkeep.backup()
    before = database.read_bytes()
    bad, link = tmp_path / "bad.db", tmp_path / "link.db"
    bad.write_bytes(whole.read_bytes()[:-4096])
    link.symlink_to(whole)
    with pytest.raises(StoreDamaged):
        recovery.restore(database, clock=clock, backups=backups, source=bad)
    with pytest.raises(StoreForeign):
        recovery.restore(database, clock=clock, backups=backups, source=link)
    assert database.read_bytes() == before
    assert names(database.parent) == ["backups", "claude-mem.db"]


def test_restoring_over_a_link_is_refused(
    open_store: Open, clock: SettableClock, database: Path, backups: Path, tmp_path: Path
) -> None:
    with open_store() as store:
        store.upkeep.backup()
    database.rename(tmp_path / "moved.db")
    database.symlink_to(tmp_path / "moved.db")
    with pytest.raises(StoreForeign):
        recovery.restore(database, clock=clock, backups=backups)


def test_restoring_without_a_backup_says_so(clock: SettableClock, database: Path, backups: Path) -> None:
    with pytest.raises(StoreError, match="no backup"):
        recovery.restore(database, clock=clock, backups=backups)


def test_two_restores_in_one_second_both_keep_what_was_there(
    open_store: Open, clock: SettableClock, database: Path, backups: Path
) -> None:
    with open_store() as store:
        store.upkeep.backup()
    first = recovery.restore(database, clock=clock, backups=backups)
    second = recovery.restore(database, clock=clock, backups=backups)
    assert first.moved_aside != second.moved_aside


# Databases put aside are full copies: the last three of each kind are kept.


def test_the_newest_three_of_each_kind_stay() -> None:
    days = [f"2025100{day}-120000" for day in range(1, 6)]
    names = [f"{kind}-{day}" for kind in ("quarantine", "replaced") for day in (*days[2:], *days[:2])]
    assert sorted(surplus_names(names)) == [
        *("quarantine-20251001-120000", "quarantine-20251002-120000"),
        *("replaced-20251001-120000", "replaced-20251002-120000"),
    ]
    assert surplus_names(names[:3]) == []


def test_of_one_second_the_last_ones_stay() -> None:
    names = ["replaced-20251001-120000" + "-again" * number for number in (2, 0, 3, 1)]
    assert surplus_names(names) == ["replaced-20251001-120000"]


def test_no_other_name_is_ours() -> None:
    others = ["replaced", "replaced-by-me", "my-replaced-20251001-120000", "quarantine-20251001-120000.db"]
    newest = [f"{kind}-2025110{day}-120000" for kind in ("quarantine", "replaced") for day in (1, 2, 3)]
    assert surplus_names([*others, *newest]) == []


def test_the_daily_backup_removes_them_and_follows_no_link(
    open_store: Callable[[], SqliteStore], backups: Path, tmp_path: Path
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "claude-mem.db").write_text("precious")
    for day in range(1, 6):
        aside = backups / f"quarantine-2025090{day}-120000"
        aside.mkdir(parents=True)
        (aside / "claude-mem.db").write_text("damaged")
    (backups / "quarantine-20250901-120000" / "link").symlink_to(precious)
    (backups / "quarantine-20250801-120000").symlink_to(precious)
    (backups / "quarantine-20250802-120000").write_text("a file")
    with open_store() as store:
        store.upkeep.backup()
        assert len(list(backups.glob("quarantine-*"))) == 7, "only where the daily ones are pruned"
        (backups / "claude-mem-20251009-085320.db").unlink()
        store.upkeep.backup_if_due()
    assert sorted(path.name for path in backups.glob("quarantine-*")) == [
        *("quarantine-20250801-120000", "quarantine-20250802-120000"),
        *(f"quarantine-2025090{day}-120000" for day in (3, 4, 5)),
    ]
    assert (precious / "claude-mem.db").read_text() == "precious"


def test_one_that_cannot_be_removed_fails_no_backup(
    open_store: Callable[[], SqliteStore], backups: Path
) -> None:
    for day in range(1, 5):
        (backups / f"replaced-2025090{day}-120000").mkdir(parents=True)
    stuck = backups / "replaced-20250901-120000"
    (stuck / "inner").mkdir()
    (stuck / "inner" / "file").write_text("x")
    (stuck / "inner").chmod(0o500)
    try:
        with open_store() as store:
            assert store.upkeep.backup_if_due() is not None
    finally:
        if stuck.exists():
            (stuck / "inner").chmod(0o700)
