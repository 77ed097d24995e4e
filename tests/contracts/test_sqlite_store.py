"""The store on SQLite keeps the contracts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store_contract import SettableClock, StoreContract
from tests.contracts.work_contract import WorkContract

from claude_mem.store.sqlite import Store


class TestSqliteStore(StoreContract):
    @pytest.fixture
    def store(self, clock: SettableClock, tmp_path: Path) -> Iterator[Store]:
        with Store.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
            yield store


class TestSqliteWork(WorkContract):
    @pytest.fixture
    def store(self, clock: SettableClock, tmp_path: Path) -> Iterator[Store]:
        with Store.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
            yield store
