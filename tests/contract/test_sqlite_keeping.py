"""Recall's writing half on SQLite keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.keeping_contract import KeepingContract, Kept
from tests.contracts.store_contract import SettableClock

from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.forget import SqliteKeeping
from claude_mem.store.sqlite.memories import SqliteMemories
from claude_mem.store.sqlite.text_index import TextIndex


class TestSqliteKeeping(KeepingContract):
    @pytest.fixture
    def kept(self, clock: SettableClock, tmp_path: Path) -> Iterator[Kept]:
        with SqliteStore.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
            yield Kept(
                store,
                SqliteKeeping(store.readers, store.writer, clock),
                SqliteMemories(store.readers),
                TextIndex(store.readers, store.writer).catch_up,
            )
