"""Corrections on SQLite keep the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.library_contract import Read
from tests.contracts.revising_contract import Corrected, RevisingContract
from tests.contracts.store_contract import SettableClock

from claude_mem.model.refs import ref_at
from claude_mem.store.sqlite import Store


class TestSqliteRevising(RevisingContract):
    @pytest.fixture
    def corrected(self, clock: SettableClock, tmp_path: Path) -> Iterator[Corrected]:
        with Store.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
            read = Read(
                store,
                store,
                store.memories,
                store.sessions,
                store.text_index.catch_up,
            )
            embedding = store.embeddings

            def embedded() -> dict[str, str]:
                made: dict[str, str] = {}
                while batch := embedding.unembedded(10):
                    made |= {str(ref_at(place)): words for place, words in batch.texts}
                    embedding.embedded(batch.marks, batch.again)
                return made

            yield Corrected(read, store.memories, embedded)
