"""A damaged database is kept aside, replaced by the newest whole backup, and told."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contracts.store_contract import Events, SettableClock, new_events

from claude_mem.model.errors import StoreDamaged, StoreForeign, StoreTooNew
from claude_mem.store.sqlite import SqliteStore, recovery

Open = Callable[[], SqliteStore]

needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="needs strace to kill at a system call"
)


@pytest.fixture
def filled(open_store: Open, events: Events, database: Path) -> Path:
    """A database with a backup of forty jobs, and forty jobs since."""
    with open_store() as store:
        store.events.accept(new_events(*(events.tool(text="x" * 500) for _ in range(40))))
        store.upkeep.backup()
        store.events.accept(new_events(*(events.tool(text="y" * 500) for _ in range(40))))
    return database


@pytest.mark.parametrize("damage", ["not a database", "half a header", "cut short", "overwritten"])
def test_damage_is_quarantined_and_the_newest_whole_backup_restored(
    open_store: Open, filled: Path, backups: Path, damage: str
) -> None:
    whole = filled.read_bytes()
    broken = {
        "not a database": b"Dear diary, " * 1000,
        "half a header": whole[:50],
        "cut short": whole[: len(whole) // 8192 * 4096],
        "overwritten": whole[:4096] + random.Random(1).randbytes(len(whole) - 4096),
    }[damage]
    filled.write_bytes(broken)
    with open_store() as store:
        recovered = store.recovered
        assert recovered is not None
        assert recovered.restored_from == backups / "claude-mem-20251009-085320.db"
        assert recovered.quarantined == backups / "quarantine-20251009-085320"
        assert recovered.detail
        assert (recovered.quarantined / "claude-mem.db").read_bytes()[:50] == broken[:50]
        assert store.queue.figures().ready == 40
        store.queue.count("works", 1)
    with open_store() as store:
        assert store.recovered is None


def test_without_a_whole_backup_the_store_starts_anew_and_says_so(
    open_store: Open, filled: Path, backups: Path
) -> None:
    (backups / "claude-mem-20251009-085320.db").write_bytes(b"also broken")
    filled.write_bytes(b"broken")
    with open_store() as store:
        assert store.recovered is not None
        assert store.recovered.restored_from is None
        assert store.recovered.quarantined is not None
        assert (store.recovered.quarantined / "claude-mem.db").read_bytes() == b"broken"
        assert store.queue.figures().ready == 0


def test_the_log_goes_into_quarantine_with_its_database(
    open_store: Open, filled: Path, events: Events
) -> None:
    wal = filled.with_name("claude-mem.db-wal")
    with open_store() as store:
        store.events.accept(new_events(events.tool()))
        log = wal.read_bytes()
    filled.write_bytes(b"broken")
    wal.write_bytes(log)
    with open_store() as store:
        assert store.recovered is not None
        assert store.recovered.quarantined is not None
        assert (store.recovered.quarantined / wal.name).read_bytes() == log
        assert store.queue.figures().ready == 40, "the log is not played into the restored database"


def test_seeded_byte_flips_never_stop_the_store_from_opening(
    open_store: Open, filled: Path, backups: Path, events: Events
) -> None:
    """Whatever flips, the store opens (or names a database that no longer looks like ours) and works."""
    whole = filled.read_bytes()
    chance = random.Random(6)
    recovered = 0
    for _ in range(60):
        for path in backups.glob("quarantine-*/*"):
            path.unlink()
        broken = bytearray(whole)
        for _ in range(chance.choice((1, 8, 200))):
            broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
        filled.write_bytes(broken)
        for suffix in ("-wal", "-shm"):
            filled.with_name(filled.name + suffix).unlink(missing_ok=True)
        try:
            with open_store() as store:
                recovered += store.recovered is not None
                store.queue.count("works")
                store.events.accept(new_events(events.tool("new")))
                assert store.queue.lease(10) is not None
        except (StoreForeign, StoreTooNew):
            continue
    assert recovered > 10


RECOVER = (
    "import sys; from pathlib import Path; from claude_mem.store.sqlite import SqliteStore\n"
    "path = Path(sys.argv[1])\n"
    "SqliteStore.open(path, clock=lambda: 1_760_000_000_000, backups=path.parent / 'backups').close()"
)
CALLS = "fsync fdatasync rename renameat renameat2 link linkat unlink unlinkat mkdir mkdirat chmod write"


@pytest.fixture
def broken(filled: Path) -> Path:
    filled.write_bytes(b"broken")
    filled.with_name("claude-mem.db-wal").write_bytes(b"its log")
    return filled


def recover_and_be_killed(broken: Path, folder: Path, call: str, number: int) -> bool:
    shutil.copytree(broken.parent, folder)
    path = folder / broken.name
    inject = f"inject=?{call}:signal=SIGKILL:when={number}"
    trace = ["strace", "-f", "-o", "/dev/null", "-e", f"trace=?{call}", "-e", inject]
    ended = subprocess.run([*trace, sys.executable, "-c", RECOVER, str(path)], check=False)
    with SqliteStore.open(path, clock=SettableClock(), backups=folder / "backups") as store:
        assert store.queue.figures().ready == 40
    kept = {one.name: one.read_bytes() for one in folder.glob("backups/quarantine-*/*")}
    assert kept == {"claude-mem.db": b"broken", "claude-mem.db-wal": b"its log"}
    assert sorted(one.name for one in folder.iterdir()) == ["backups", "claude-mem.db"]
    shutil.rmtree(folder)
    return ended.returncode == -signal.SIGKILL


@needs_strace
def test_a_recovery_that_is_killed_is_finished_by_the_next_start(broken: Path, tmp_path: Path) -> None:
    some = (("rename", 1), ("rename", 2), ("fsync", 2))
    assert sum(recover_and_be_killed(broken, tmp_path / "killed", *when) for when in some) > 1


@needs_strace
@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_a_recovery_killed_anywhere_is_finished_by_the_next_start(broken: Path, tmp_path: Path) -> None:
    kills = 0
    for call in CALLS.split():
        for number in itertools.count(1):
            if not recover_and_be_killed(broken, tmp_path / "killed", call, number):
                break
            kills += 1
    assert kills > 10


def test_a_large_database_is_not_read_through_at_start_but_can_be_checked(
    open_store: Open, filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recovery, "CHECK_UP_TO", 4096)
    whole = filled.read_bytes()
    filled.write_bytes(whole[:-4096] + random.Random(2).randbytes(4096))
    with open_store() as store:
        assert store.recovered is None
        with pytest.raises(StoreDamaged):
            store.upkeep.check()
    recovery.recover(
        store.path, clock=lambda: 0, backups=store.path.with_name("backups"), detail="found in the background"
    )
    with open_store() as store:
        store.upkeep.check()
        assert store.queue.figures().ready == 40


def test_a_data_directory_may_be_a_link_to_another_disk(tmp_path: Path) -> None:
    elsewhere, link = tmp_path / "disk", tmp_path / "data"
    link.symlink_to(elsewhere)
    with SqliteStore.open(link / "m.db", clock=SettableClock(), backups=link / "backups"):
        assert (elsewhere / "m.db").is_file()
    assert link.is_symlink()


def test_a_pipe_or_a_directory_or_a_link_under_the_databases_name_is_not_opened(
    open_store: Open, database: Path, tmp_path: Path
) -> None:
    database.parent.mkdir()
    os.mkfifo(database)
    with pytest.raises(StoreForeign):
        open_store()
    database.unlink()
    database.mkdir()
    with pytest.raises(StoreForeign):
        open_store()
    database.rmdir()
    database.symlink_to(tmp_path / "nowhere.db")
    with pytest.raises(StoreForeign):
        open_store()
    assert not (tmp_path / "nowhere.db").exists()


def test_a_flipped_bit_in_an_events_kind_does_not_hold_up_its_session(
    open_store: Open, filled: Path, events: Events
) -> None:
    """SQLite does not notice it: the row is whole, only the word is none of ours."""
    whole = filled.read_bytes()
    assert b"tool_use" in whole
    filled.write_bytes(whole.replace(b"tool_use", b"tool[use"))
    with open_store() as store:
        store.events.accept(new_events(events.tool("new")))
        lease = store.queue.lease(10)
        assert lease is not None
        assert all(job.event.tool for job in lease.jobs)
