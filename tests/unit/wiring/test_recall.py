"""Recall put together as the worker has it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from claude_mem.model.errors import StoreUnavailable
from claude_mem.model.observation import Observation
from claude_mem.ports.desk import Narrowing, Page
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.indexing import Indexing
from claude_mem.store.sqlite.keeping import SqliteKeeping
from claude_mem.testing.faults import fill, small_disk
from claude_mem.testing.store_contract import NOON, ORIGIN
from claude_mem.wiring import recall
from claude_mem.wiring.clock import now


@contextmanager
def recalling(data: Path) -> Iterator[tuple[recall.Recalling, SqliteStore]]:
    with SqliteStore.open(data / "claude-mem.db", clock=now, backups=data / "backups") as store:
        settings = Settings(data, vectors="off")
        assembled = recall.assemble(settings, store, lambda _cwd: ORIGIN, str, lambda: 0)
        try:
            yield assembled, store
        finally:
            assembled.close()


def remember(store: SqliteStore, title: str, number: int = 0) -> None:
    """Past the desk: nothing indexes it."""
    seen = Observation("change", f"{title} {number}", narrative="z" * 3000, files_modified=("src/till.py",))
    SqliteKeeping(store.readers, store.writer, now).remember(seen, ORIGIN, session="s", at=NOON + number)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")
def test_on_a_full_disk_what_is_indexed_is_found(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk, recalling(disk) as (assembled, store):
        remember(store, "heron")
        while assembled.step():
            pass
        remember(store, "heron", 1)
        hog = fill(disk)
        with pytest.raises(StoreUnavailable):
            for number in range(2, 1000):
                remember(store, "heron", number)  # the log may have room for the first few
        with pytest.raises(StoreUnavailable):
            Indexing(store.readers, store.writer).step()

        found = assembled.desk.search("heron", Narrowing(), Page())
        assert [result["title"] for result in found["results"]] == ["heron 0"]
        assert assembled.desk.timeline("", Narrowing(), query="heron")["anchor"]["title"] == "heron 0"
        assert len(assembled.desk.file_history("till.py", Narrowing())["results"]) == 1
        assert len(assembled.desk.search("", Narrowing(file="till.py"), Page())["results"]) == 1

        hog.unlink()
        store.checkpoint()
        assert len(assembled.desk.search("heron", Narrowing(), Page())["results"]) > 1
