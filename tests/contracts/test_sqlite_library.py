"""Recall's reading half on SQLite keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.library_contract import LibraryContract, Read
from tests.contracts.store_contract import SettableClock

from claude_mem.store.sqlite import Store


class TestSqliteLibrary(LibraryContract):
    @pytest.fixture
    def read(self, clock: SettableClock, tmp_path: Path) -> Iterator[Read]:
        with Store.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
            yield Read(
                store,
                store,
                store.memories,
                store.sessions,
                store.text_index.catch_up,
            )
