"""How long a correction can be taken back."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, SettableClock

from claude_mem.model.memory import Observation
from claude_mem.ports.desk import NotThere
from claude_mem.recall.correcting import MOST_UNDOS, UNDO_MS, Correcting
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.keeping import SqliteKeeping
from claude_mem.store.sqlite.library import SqliteLibrary
from claude_mem.store.sqlite.revising import SqliteRevising


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def correcting(clock: SettableClock, tmp_path: Path) -> Iterator[Correcting]:
    with SqliteStore.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
        keeping = SqliteKeeping(store.readers, store.writer, clock)
        keeping.remember(Observation("change", "The tui sings"), ORIGIN, session="s1", at=NOON)
        library, revising = SqliteLibrary(store.readers), SqliteRevising(store.writer)
        yield Correcting(library, revising, clock, str, lambda _projects: None)


def test_for_an_hour(correcting: Correcting, clock: SettableClock) -> None:
    first, second = (correcting.pin(["1"], pinned=True)["undo"] for _ in range(2))
    clock.now += UNDO_MS
    assert correcting.undo(second["token"])["refs"] == ["1"]
    correcting.pin(["1"], pinned=True)
    clock.now += 1
    with pytest.raises(NotThere):
        correcting.undo(first["token"])


def test_the_last_so_many(correcting: Correcting) -> None:
    undos = [correcting.pin(["1"], pinned=True)["undo"] for _ in range(MOST_UNDOS + 1)]
    with pytest.raises(NotThere):
        correcting.undo(undos[0]["token"])
    assert correcting.undo(undos[1]["token"])["status"] == "undone"


def test_nobody_guesses_a_token(correcting: Correcting) -> None:
    tokens = {correcting.pin(["1"], pinned=True)["undo"]["token"] for _ in range(20)}
    assert len(tokens) == 20
    assert all(len(token) >= 20 for token in tokens)
