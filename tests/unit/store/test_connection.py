"""The one who writes: groups, savepoints, faults."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Event, get_ident
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.model.clock import iso
from claude_mem.model.errors import StoreError, StoreUnavailable
from claude_mem.store.relational.rows import Value, storable
from claude_mem.store.sqlite.connection import Writer, open_writer

T = TypeVar("T")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "w.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE parent (n INTEGER PRIMARY KEY)")
        db.execute("CREATE TABLE child (n INTEGER REFERENCES parent(n) DEFERRABLE INITIALLY DEFERRED)")
    return path


@pytest.fixture
def writer(path: Path) -> Iterator[Writer]:
    writer = Writer(open_writer(path), path)
    yield writer
    writer.close()


def insert(db: sqlite3.Connection, number: int, table: str = "parent") -> int:
    db.execute(f"INSERT INTO {table} VALUES (?)", (number,))
    return number


def rows(path: Path) -> list[int]:
    with closing(sqlite3.connect(path)) as db:
        return [row[0] for row in db.execute("SELECT n FROM parent ORDER BY n")]


class Group:
    """Holds the writer busy, so that all that is handed in meanwhile becomes one group."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.pool = ThreadPoolExecutor(64)
        self.started, self.go = Event(), Event()
        self.blocker = self.pool.submit(writer.run, self._block)
        assert self.started.wait(10)

    def _block(self, db: sqlite3.Connection) -> None:
        self.started.set()
        assert self.go.wait(10)

    def add(self, work: Callable[[sqlite3.Connection], T]) -> Future[T]:
        before = self.writer._waiting.qsize()
        future = self.pool.submit(self.writer.run, work)
        while self.writer._waiting.qsize() == before:
            pass  # handed in within microseconds
        return future

    def release(self) -> None:
        self.go.set()
        self.blocker.result(10)
        self.pool.shutdown()


def test_all_work_is_done_by_one_thread_that_is_not_the_callers(writer: Writer) -> None:
    with ThreadPoolExecutor(8) as pool:
        threads = set(pool.map(lambda _: writer.run(lambda db: get_ident()), range(50)))
    assert len(threads) == 1
    assert get_ident() not in threads


def test_what_waits_is_committed_as_one_group(writer: Writer, path: Path) -> None:
    group = Group(writer)
    seen: list[int] = []

    def look(db: sqlite3.Connection) -> None:
        seen.append(len(rows(path)))  # by another connection: sees only what is committed
        insert(db, len(seen))

    futures = [group.add(look) for _ in range(10)]
    group.release()
    for future in futures:
        future.result(10)
    assert seen == [0] * 10
    assert rows(path) == list(range(1, 11))


def test_work_that_raises_is_undone_and_harms_nobody_else(writer: Writer, path: Path) -> None:
    def spoil(db: sqlite3.Connection) -> None:
        insert(db, 2)
        raise LookupError("no")

    group = Group(writer)
    good = group.add(lambda db: insert(db, 1))
    bad = group.add(spoil)
    also_good = group.add(lambda db: insert(db, 3))
    clash = group.add(lambda db: insert(db, 1))
    group.release()
    assert (good.result(10), also_good.result(10)) == (1, 3)
    with pytest.raises(LookupError):
        bad.result(10)
    with pytest.raises(StoreError):
        clash.result(10)
    assert rows(path) == [1, 3]


def test_a_commit_that_fails_fails_for_all_of_its_group_and_the_next_one_works(
    writer: Writer, path: Path
) -> None:
    group = Group(writer)
    good = group.add(lambda db: insert(db, 1))
    orphan = group.add(lambda db: insert(db, 99, "child"))  # noticed at the commit only
    group.release()
    for future in (good, orphan):
        with pytest.raises(StoreError):
            future.result(10)
    assert rows(path) == []
    assert writer.run(lambda db: insert(db, 2)) == 2
    assert rows(path) == [2]


def test_a_transaction_that_sqlite_gives_up_fails_for_all_of_its_group(writer: Writer, path: Path) -> None:
    def give_up(db: sqlite3.Connection) -> None:
        db.execute("ROLLBACK")  # as SQLite does by itself on some I/O errors
        raise OSError(28, "No space left on device")

    group = Group(writer)
    good = group.add(lambda db: insert(db, 1))
    bad = group.add(give_up)
    group.release()
    for future in (good, bad):
        with pytest.raises(StoreUnavailable):
            future.result(10)
    assert rows(path) == []


def test_a_database_locked_by_somebody_else_is_unavailable_until_it_is_not(path: Path) -> None:
    db = open_writer(path)
    db.execute("PRAGMA busy_timeout = 0")
    writer = Writer(db, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreUnavailable):
            writer.run(lambda db: insert(db, 1))
        other.execute("ROLLBACK")
    writer.run(lambda db: insert(db, 1))
    writer.close()
    assert rows(path) == [1]


def test_closing_finishes_what_was_handed_in_and_refuses_what_comes_after(path: Path) -> None:
    writer = Writer(open_writer(path), path)
    group = Group(writer)
    last = group.add(lambda db: insert(db, 1))
    group.go.set()
    writer.close()
    group.pool.shutdown()
    assert last.result(10) == 1
    with pytest.raises(StoreUnavailable):
        writer.run(lambda db: insert(db, 2))
    writer.close()
    assert sorted(file.name for file in path.parent.iterdir()) == ["w.db"]


# Values as SQLite can hold them.


@given(st.none() | st.integers() | st.text(st.characters(exclude_categories=())))
def test_whatever_is_made_storable_comes_back_as_it_went_in(value: Value) -> None:
    kept = storable(value)
    with closing(sqlite3.connect(":memory:")) as db:
        assert db.execute("SELECT ?", (kept,)).fetchone() == (kept,)


@given(st.text() | st.integers(-(2**63) + 1, 2**63 - 1))
def test_what_is_storable_already_stays_as_it_is(value: Value) -> None:
    assert storable(value) == value


@pytest.mark.parametrize(
    ("epoch_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_760_000_000_001, "2025-10-09T08:53:20.001Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (2**80, "9999-12-31T23:59:59.999Z"),
        (-5, "1970-01-01T00:00:00.000Z"),
    ],
)
def test_instants_are_written_as_javascript_writes_them(epoch_ms: int, text: str) -> None:
    assert iso(epoch_ms) == text
