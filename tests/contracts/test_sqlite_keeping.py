"""Recall's writing half on SQLite keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.keeping_contract import KeepingContract, Kept
from tests.contracts.store_contract import SettableClock

from claude_mem.store.sqlite import Store


class TestSqliteKeeping(KeepingContract):
    @pytest.fixture
    def kept(self, clock: SettableClock, tmp_path: Path) -> Iterator[Kept]:
        with Store.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
            yield Kept(
                store,
                store,
                store.memories,
                store.text_index.catch_up,
            )
