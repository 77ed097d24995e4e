"""Corrections on SQLite keep the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.library_contract import Read
from tests.contracts.revising_contract import Corrected, RevisingContract
from tests.contracts.store_contract import SettableClock

from claude_mem.model.refs import ref_at
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.forget import SqliteKeeping
from claude_mem.store.sqlite.memories import SqliteMemories, SqliteRevising
from claude_mem.store.sqlite.sessions import SqliteSessions
from claude_mem.store.sqlite.text_index import TextIndex
from claude_mem.store.sqlite.vector_index import SqliteEmbedding


class TestSqliteRevising(RevisingContract):
    @pytest.fixture
    def corrected(self, clock: SettableClock, tmp_path: Path) -> Iterator[Corrected]:
        with SqliteStore.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
            read = Read(
                store,
                SqliteKeeping(store.readers, store.writer, clock),
                SqliteMemories(store.readers),
                SqliteSessions(store.readers),
                TextIndex(store.readers, store.writer).catch_up,
            )
            embedding = SqliteEmbedding(store.readers, store.writer)

            def embedded() -> dict[str, str]:
                made: dict[str, str] = {}
                while batch := embedding.unembedded(10):
                    made |= {str(ref_at(place)): words for place, words in batch.texts}
                    embedding.embedded(batch.marks, batch.again)
                return made

            yield Corrected(read, SqliteRevising(store.writer), embedded)
