"""Databases put aside are full copies: the last three of each kind are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.asides import outlived


def test_the_newest_three_of_each_kind_stay() -> None:
    days = [f"2025100{day}-120000" for day in range(1, 6)]
    names = [f"{kind}-{day}" for kind in ("quarantine", "replaced") for day in (*days[2:], *days[:2])]
    assert sorted(outlived(names)) == [
        *("quarantine-20251001-120000", "quarantine-20251002-120000"),
        *("replaced-20251001-120000", "replaced-20251002-120000"),
    ]
    assert outlived(names[:3]) == []


def test_of_one_second_the_last_ones_stay() -> None:
    names = ["replaced-20251001-120000" + "-again" * number for number in (2, 0, 3, 1)]
    assert outlived(names) == ["replaced-20251001-120000"]


def test_no_other_name_is_ours() -> None:
    others = ["replaced", "replaced-by-me", "my-replaced-20251001-120000", "quarantine-20251001-120000.db"]
    newest = [f"{kind}-2025110{day}-120000" for kind in ("quarantine", "replaced") for day in (1, 2, 3)]
    assert outlived([*others, *newest]) == []


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
        store.backup()
        assert len(list(backups.glob("quarantine-*"))) == 7, "only where the daily ones are pruned"
        (backups / "claude-mem-20251009-085320.db").unlink()
        store.backup_if_due()
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
            assert store.backup_if_due() is not None
    finally:
        if stuck.exists():
            (stuck / "inner").chmod(0o700)
