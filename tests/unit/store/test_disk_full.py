"""Row 4, the store's half: a full disk refuses new events, loses none, and recovers without a restart."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store_contract import Events, SettableClock, new_events

from claude_mem.model.errors import StoreUnavailable
from claude_mem.model.memory import Findings, Observation
from claude_mem.store.sqlite import SqliteStore

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=False)
    if mounted.returncode:
        pytest.skip("this machine lets nobody mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(disk: Path) -> Path:
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return filler


def test_a_full_disk_refuses_loses_nothing_and_recovers_without_reopening(
    small_disk: Path, events: Events, clock: SettableClock
) -> None:
    with SqliteStore.open(small_disk / "m.db", clock=clock, backups=small_disk / "backups") as store:
        accepted = [events.tool() for _ in range(3)]
        store.events.accept(new_events(*accepted))
        filler = fill(small_disk)
        refused = []
        for _ in range(200):  # the log's last page may have room for the first few
            event = events.tool(text="z" * 5000)
            try:
                store.events.accept(new_events(event))
            except StoreUnavailable:
                refused.append(event)
            else:
                accepted.append(event)
        assert len(refused) > 190
        assert store.queue.figures().ready == len(accepted), "reading goes on"
        with pytest.raises(StoreUnavailable):
            store.upkeep.backup()

        filler.unlink()
        store.upkeep.checkpoint()
        assert store.events.accept(new_events(*refused[:20])).fresh == 20, "nothing of them had stayed behind"
        accepted += refused[:20]
        lease = store.queue.lease(100)
        assert lease is not None
        assert [job.event.id for job in lease.jobs] == [event.id for event in accepted]
        store.queue.settle(lease, Findings((Observation("change"),)))
        store.upkeep.check()
    with SqliteStore.open(small_disk / "m.db", clock=clock, backups=small_disk / "backups") as store:
        assert store.queue.figures().done == len(accepted)
        assert store.recovered is None


def test_a_database_cannot_be_made_on_a_full_disk_and_can_when_there_is_room(
    small_disk: Path, clock: SettableClock
) -> None:
    filler = fill(small_disk)
    with pytest.raises(StoreUnavailable):
        SqliteStore.open(small_disk / "m.db", clock=clock, backups=small_disk / "backups")
    filler.unlink()
    with SqliteStore.open(small_disk / "m.db", clock=clock, backups=small_disk / "backups") as store:
        assert store.recovered is None


def test_a_damaged_database_stays_where_it_is_while_there_is_no_room_to_restore(
    small_disk: Path, clock: SettableClock, events: Events
) -> None:
    path, backups = small_disk / "m.db", small_disk / "backups"
    with SqliteStore.open(path, clock=clock, backups=backups) as store:
        store.events.accept(new_events(events.tool()))
        store.upkeep.backup()
    path.write_bytes(b"broken")
    filler = fill(small_disk)
    with pytest.raises(StoreUnavailable):
        SqliteStore.open(path, clock=clock, backups=backups)
    assert path.read_bytes() == b"broken"
    filler.unlink()
    with SqliteStore.open(path, clock=clock, backups=backups) as store:
        assert store.recovered is not None
        assert store.queue.figures().ready == 1
