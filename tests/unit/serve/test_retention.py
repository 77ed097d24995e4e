"""What the worker lets go of by itself, and what it says it would."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store_contract import Events, new_events

from claude_mem.model.clock import now
from claude_mem.model.events import Kind, ToolCall
from claude_mem.model.memory import Findings, Observation
from claude_mem.queue.spool_reader import Spool
from claude_mem.recall.background import ContextFiles
from claude_mem.recall.session_start import Rendered
from claude_mem.serve.retention import Retention
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore

DAY_MS = 24 * 60 * 60 * 1000


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The worker's working directory is the data directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def store(data: Path) -> Iterator[SqliteStore]:
    with SqliteStore.open(data / "claude-mem.db", clock=now, backups=data / "backups") as store:
        yield store


def retention_of(data: Path, store: SqliteStore, **settings: int) -> Retention:
    spool = Spool()
    return Retention(
        settings=Settings(data, **settings),  # type: ignore[arg-type]  # each is a number
        store=store,
        contexts=ContextFiles(data, store, lambda *_: Rendered(), now),
        stale_markers=spool.stale,
        tidy_spool=spool.tidy,
    )


def sessions(store: SqliteStore, many: int, characters: int, *, days_ago: int = 0) -> None:
    events, begin = Events(), now() - days_ago * DAY_MS
    for number in range(many):
        name = f"s{days_ago}-{number}"
        tool = ToolCall("Bash", "i" * characters, "", None)
        used = events.make(Kind.TOOL_USE, name, tool=tool, at=begin + number, id=f"{name}-1")
        ended = events.make(Kind.STOP, name, text="done", at=begin + number, id=f"{name}-2")
        store.events.accept(new_events(used, ended))
        found = store.sessions.find(name)
        assert found is not None
        lease = store.queue.lease(9, found.id)
        assert lease is not None
        store.queue.settle(lease, Findings((Observation("change", f"learnt in {name}"),)))


def kept(store: SqliteStore) -> tuple[int, int]:
    """How many tool uses still say something, and how many observations there are."""
    with store.readers.read() as db:
        told = db.execute("SELECT COUNT(*) FROM pending_messages WHERE tool_input IS NOT NULL").fetchone()[0]
        learnt = db.execute("SELECT COUNT(*) FROM observations").fetchone()[0]
    return told, learnt


def keep(house: Retention) -> None:
    """As the worker does, every hour."""
    for step in house.upkeep().values():
        step()


def items(house: Retention) -> dict[str, int]:
    return {item.what: item.count or item.bytes for item in house.collect(dry_run=True).items}


def test_evidence_past_its_size_goes_the_oldest_first_and_nothing_else(
    data: Path, store: SqliteStore
) -> None:
    sessions(store, 20, 100_000)
    house = retention_of(data, store, evidence_mb=1)
    assert 9 <= items(house)["evidence_large"] <= 21
    assert kept(store) == (20, 20), "saying so changes nothing"
    keep(house)
    told, learnt = kept(store)
    assert 9 <= told <= 10
    assert learnt == 20
    assert items(house)["evidence_large"] == 0
    with store.readers.read() as db:
        left = db.execute("SELECT MIN(id) FROM pending_messages WHERE tool_input IS NOT NULL").fetchone()[0]
    assert left > 20


@pytest.mark.parametrize("settings", [{"evidence_mb": 0}, {"evidence_mb": 3}])
def test_without_a_limit_or_below_it_all_evidence_stays(
    data: Path, store: SqliteStore, settings: dict[str, int]
) -> None:
    sessions(store, 20, 100_000)
    keep(retention_of(data, store, **settings))
    assert kept(store) == (20, 20)


def test_evidence_past_its_age_goes_and_the_room_it_took_is_given_back(
    data: Path, store: SqliteStore
) -> None:
    sessions(store, 100, 100_000, days_ago=40)
    sessions(store, 5, 100_000)
    house = retention_of(data, store, evidence_days=30)
    assert items(house)["evidence_old"] == 200
    before = (data / "claude-mem.db").stat().st_size
    keep(house)
    store.upkeep.checkpoint()
    assert kept(store) == (5, 105)
    assert (data / "claude-mem.db").stat().st_size < before / 4


def test_collecting_leaves_nothing_unused(data: Path, store: SqliteStore) -> None:
    sessions(store, 20, 100_000, days_ago=40)
    told = retention_of(data, store, evidence_days=30).collect(dry_run=False)
    assert told.database["free"] == 0
    assert told.bytes > 1_000_000
    assert kept(store) == (0, 20)
    again = retention_of(data, store, evidence_days=30).collect(dry_run=True)
    assert again.bytes == 0


def test_copies_past_those_that_are_kept_are_counted_and_go(data: Path, store: SqliteStore) -> None:
    backups = data / "backups"
    (backups / ".forgetting-7-dead").mkdir(parents=True)
    for day in range(1, 11):
        (backups / f"claude-mem-202501{day:02}-000000.db").write_bytes(b"x" * 100)
        (backups / f"replaced-202501{day:02}-000000").mkdir()
    (backups / "mine.db").write_bytes(b"x")
    house = retention_of(data, store)
    assert items(house)["backups"] == 3 + 7 + 1
    house.collect(dry_run=False)
    left = sorted(path.name for path in backups.iterdir())
    assert len(left) == 7 + 3 + 1
    assert "mine.db" in left


def test_what_a_killed_worker_was_rewriting_goes_by_itself_but_not_what_this_one_is(
    data: Path, store: SqliteStore
) -> None:
    dead, alive = (data / "backups" / f".forgetting-{pid}-ab" for pid in (7, os.getpid()))
    for shop in (dead, alive):
        shop.mkdir(parents=True)
    keep(retention_of(data, store))
    assert (dead.exists(), alive.exists()) == (False, True)


def test_old_contexts_and_markers_go_and_fresh_ones_stay(data: Path, store: SqliteStore) -> None:
    for folder in ("context", "private"):
        (data / folder).mkdir()
        for name in ("old", "fresh"):
            (data / folder / name).write_text("x")
        os.utime(data / folder / "old", (time.time() - 200 * 86_400,) * 2)
    house = retention_of(data, store)
    assert (items(house)["contexts"], items(house)["markers"]) == (1, 1)
    house.collect(dry_run=False)
    assert [path.name for path in (data / "context").iterdir()] == ["fresh"]
    assert [path.name for path in (data / "private").iterdir()] == ["fresh"]
