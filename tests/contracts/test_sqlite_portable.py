"""Memory that travels, on SQLite, keeps the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from tests.contracts.portable_contract import PortableContract, Travelling
from tests.contracts.store_contract import ORIGIN, SettableClock

from claude_mem.model.refs import Ref
from claude_mem.store.sqlite import Store


class TestSqlitePortable(PortableContract):
    @pytest.fixture
    def stores(self, clock: SettableClock, tmp_path: Path) -> Iterator[Callable[[], Travelling]]:
        numbers = count()
        with ExitStack() as stack:

            def another() -> Travelling:
                folder = tmp_path / str(next(numbers))
                folder.mkdir()
                opened = Store.open(folder / "claude-mem.db", clock=clock, backups=folder / "backups")
                store = stack.enter_context(opened)
                return Travelling(
                    store,
                    store,
                    store.memories,
                    store.transfer,
                )

            yield another

    def left_open(self, ours: Travelling) -> list[str]:
        assert isinstance(ours.store, Store)
        project = ours.library.project(ORIGIN.key)
        assert project is not None
        ids = ours.store.sessions.last_summaries(project.id, "", 10)
        whole = ours.library.details([Ref("summary", id) for id in ids])
        return [columns["next_steps"] for _, columns in whole.values()]
