"""The store on SQLite keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from claude_mem.store.sqlite import SqliteStore
from claude_mem.testing.store_contract import SettableClock, Store, StoreContract


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def store(self, clock: SettableClock, tmp_path: Path) -> Iterator[Store]:
        with SqliteStore.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
            yield store
