"""The room a database takes: bounded by what may be kept, and given back without anybody waiting for long."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.contracts.store_contract import HOUR, NOON, Events, SettableClock, new_events

from claude_mem.model.events import Kind, ToolCall
from claude_mem.model.memory import Findings, Observation
from claude_mem.store.sqlite import SqliteStore, schema, upkeep
from claude_mem.store.sqlite.upkeep import Upkeep

OpenStore = Callable[[], SqliteStore]
MEBIBYTE = 1 << 20


def room_of(store: SqliteStore) -> Upkeep:
    return store.upkeep


def grown_and_emptied(store: SqliteStore, mebibytes: int = 8) -> None:
    def fill(db: sqlite3.Connection) -> None:
        for number in range(256):
            db.execute("INSERT INTO counters (name, value) VALUES (?, 0)", (f"{number}" + "x" * 4000,))

    for _ in range(mebibytes):
        store.writer.run(fill)
        store.writer.run(lambda db: db.execute("UPDATE counters SET name = hex(randomblob(8)) || name"))
    store.writer.run(lambda db: db.execute("DELETE FROM counters"))


def test_what_is_unused_is_given_back_step_by_step(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store() as store:
        grown_and_emptied(store)
        before = room_of(store).size()
        assert before.shrinks
        assert before.free > before.size / 2
        monkeypatch.setattr(upkeep, "vacuum", _not_needed)
        assert room_of(store).shrink() > 4 * MEBIBYTE
        after = room_of(store).size()
        assert after.free <= before.size * upkeep.LEFT
        store.upkeep.checkpoint()
        assert store.path.stat().st_size == after.size < before.size / 2


def test_a_step_gives_back_no_more_than_its_pages(open_store: OpenStore) -> None:
    with open_store() as store:
        grown_and_emptied(store)
        before = room_of(store).size()
        store.writer.alone(upkeep._step)
        given = (before.size - room_of(store).size().size) // 4096
        # SQLite's own map of pages takes one page in a thousand, which may go with them.
        assert given in (upkeep.PAGES, upkeep.PAGES + 1)


def test_a_little_that_is_unused_is_left_for_what_comes(open_store: OpenStore) -> None:
    with open_store() as store:
        grown_and_emptied(store, mebibytes=1)
        assert room_of(store).size().free > 0
        assert room_of(store).shrink() == 0
        assert room_of(store).shrink_fully() > 0
        assert room_of(store).size().free == 0


def test_a_database_of_before_is_written_anew_once_and_shrinks_step_by_step_from_then_on(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "shrinking", lambda db: None)
    with open_store() as store:
        grown_and_emptied(store)
        assert not room_of(store).size().shrinks
        assert room_of(store).shrink() > 4 * MEBIBYTE
        assert room_of(store).size().shrinks
    monkeypatch.setattr(upkeep, "vacuum", _not_needed)
    with open_store() as store:
        grown_and_emptied(store)
        assert room_of(store).shrink() > 4 * MEBIBYTE


def test_a_large_one_of_before_is_not_written_anew_unasked(
    open_store: OpenStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "shrinking", lambda db: None)
    monkeypatch.setattr(upkeep, "AT_ONCE_BYTES", MEBIBYTE)
    with open_store() as store:
        grown_and_emptied(store)
        assert room_of(store).shrink() == 0
        assert room_of(store).shrink_fully() > 4 * MEBIBYTE


def test_the_log_is_cut_back_after_a_burst(open_store: OpenStore) -> None:
    with open_store() as store:
        store.writer.run(
            lambda db: db.execute("INSERT INTO counters (name, value) VALUES (hex(randomblob(40000000)), 0)")
        )
        log = store.path.with_name(f"{store.path.name}-wal")
        assert log.stat().st_size > 64 * MEBIBYTE
        store.writer.run(lambda db: db.execute("DELETE FROM counters"))
        for number in range(3):
            store.queue.count(f"a write {number}")
        assert log.stat().st_size <= 64 * MEBIBYTE
        store.upkeep.checkpoint()
        assert log.stat().st_size == 0


def _not_needed(_db: object) -> None:
    raise AssertionError("the file was written anew")


class Work:
    """Sessions, each with evidence of a thousand characters or so, and what was learnt of it."""

    def __init__(self, store: SqliteStore, clock: SettableClock) -> None:
        self.store, self.events = store, Events()
        self.evidence = store.upkeep
        self.keeping = store

    def session(self, name: str, at: int, *, observed: bool = True) -> None:
        tool = ToolCall("Bash", "i" * 500, "o" * 500, None)
        made = (
            self.events.prompt("p" * 100, name, at=at),
            self.events.make(Kind.TOOL_USE, name, tool=tool, at=at + 1),
            self.events.make(Kind.STOP, name, text="t" * 10, at=at + 2),
        )
        self.store.events.accept(new_events(*made))
        if observed:
            found = self.store.sessions.find(name)
            assert found is not None
            lease = self.store.queue.lease(9, found.id)
            assert lease is not None
            self.store.queue.settle(lease, Findings((Observation("change", f"learnt in {name}"),)))

    def left(self) -> list[str]:
        """Sessions whose evidence still says something."""
        with self.store.readers.read() as db:
            rows = db.execute(
                """SELECT DISTINCT s.claude_session_id FROM pending_messages AS p JOIN sdk_sessions AS s
                   ON s.id = p.session_id WHERE p.tool_input IS NOT NULL ORDER BY 1"""
            )
            return [row[0] for row in rows]


@pytest.fixture
def work(open_store: OpenStore, clock: SettableClock) -> Work:
    work = Work(open_store(), clock)
    for number in range(5):
        work.session(f"s{number}", NOON + number * HOUR)
    return work


def test_the_oldest_evidence_past_its_size_goes_and_what_was_learnt_of_it_stays(work: Work) -> None:
    there = work.evidence.measure_evidence()
    assert (there.events, there.characters) == (10, 5050)
    gone = work.evidence.trim_evidence(2000)
    assert gone.characters >= 2000
    assert work.left() == ["s2", "s3", "s4"]
    assert work.evidence.measure_evidence().characters == 5050 - gone.characters
    with work.store.readers.read() as db:
        assert db.execute("SELECT COUNT(*) FROM observations").fetchone()[0] == 5
        assert db.execute("SELECT COUNT(*) FROM user_prompts WHERE prompt IS NOT NULL").fetchone()[0] == 5


def test_what_nobody_has_observed_yet_is_never_let_go_of(work: Work) -> None:
    work.session("a-waiting", NOON - HOUR, observed=False)
    work.evidence.trim_evidence(10**9)
    assert work.left() == ["a-waiting"]
    assert work.evidence.measure_evidence().characters == 0


def test_what_is_past_its_age_is_counted_before_it_goes(work: Work) -> None:
    before = NOON + HOUR
    assert work.evidence.expired_evidence(before).events == 2
    while work.keeping.upkeep.expire_evidence(before):
        pass
    assert work.evidence.expired_evidence(before).events == 0
    assert work.left() == ["s1", "s2", "s3", "s4"]


def test_a_database_is_only_as_large_as_its_file(work: Work, database: Path) -> None:
    work.store.upkeep.checkpoint()
    room = room_of(work.store).size()
    assert room.size == database.stat().st_size
    assert room.log == 0
    work.store.close()
