"""Vectors in the database: what is held ready, and what is not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store_contract import ORIGIN
from tests.contracts.vectors_contract import vector, vectors_of
from tests.unit.vectors.memories import OTHER, Memories, in_two_projects, opened

from claude_mem.model.refs import span
from claude_mem.store.sqlite.merging import SqliteProjects
from claude_mem.vectors.builtin import Builtin


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    with opened(tmp_path) as memories:
        yield memories


def test_a_memory_that_does_not_exist_gets_no_vector(memories: Memories) -> None:
    (spot,) = memories.learn("abc")
    keeper = Builtin(memories.shelf)
    keeper.put({spot: vector(1), spot + 1: vector(1), span(7)[0] + 5: vector(1)})
    assert keeper.count() == 1
    assert [found for found, _ in keeper.nearest(vector(1), None, 5)] == [spot]


def test_only_the_newest_are_compared_but_all_have_cosines(memories: Memories) -> None:
    spots = in_two_projects(memories, 60)
    keeper = Builtin(memories.shelf, most=20)
    keeper.put({spot: vector(1, spot % 5) for spot in spots})
    for project, own in ((1, spots[:60]), (2, spots[60:])):
        found = keeper.nearest(vector(1), span(project), 200)
        assert {spot for spot, _ in found} == set(own[-20:])
    assert keeper.cosines(vector(1), spots).keys() == set(spots)


def test_of_all_projects_the_newest_sessions_are_compared(memories: Memories) -> None:
    spots = []
    for number in range(30):
        origin = OTHER if number % 2 else ORIGIN
        spots += memories.learn(f"a {number}", f"b {number}", session=f"s{number}", origin=origin)
    keeper = Builtin(memories.shelf, most=16)
    keeper.put({spot: vector(1) for spot in spots})
    assert {spot for spot, _ in keeper.nearest(vector(1), None, 200)} == set(spots[-8:])


def test_a_span_that_outgrows_its_bound_lets_its_oldest_go(memories: Memories) -> None:
    spots = memories.learn(*(f"title {number}" for number in range(60)))
    keeper = Builtin(memories.shelf, most=20)
    for spot, one in vectors_of(spots).items():
        keeper.put({spot: one})
        assert 1 <= len(keeper.nearest(vector(1), span(1), 200)) <= 22
    assert set(spots[-20:]) <= {spot for spot, _ in keeper.nearest(vector(1), span(1), 200)}


def test_under_a_new_stamp_what_is_held_is_read_again(memories: Memories) -> None:
    """A project was merged into another: its memories have other spots now."""
    spots = in_two_projects(memories, 3)
    keeper = Builtin(memories.shelf)
    keeper.put({spot: vector(1) for spot in spots})
    keeper.open("one")
    into, gone = span(1), span(2)
    assert len(keeper.nearest(vector(1), into, 9)) == len(keeper.nearest(vector(1), gone, 9)) == 3
    SqliteProjects(memories.store.readers, memories.store.writer).merge(2, 1)
    keeper.open("one")
    assert len(keeper.nearest(vector(1), into, 9)) == 3
    keeper.open("another")
    assert len(keeper.nearest(vector(1), into, 9)) == 6
    assert keeper.nearest(vector(1), gone, 9) == []


def test_no_more_spans_are_held_than_two(memories: Memories) -> None:
    in_two_projects(memories, 3)
    keeper = Builtin(memories.shelf)
    for within in (span(1), span(2), None, span(3), span(1)):
        keeper.nearest(vector(1), within, 1)
    assert len(keeper._held) == 2


def test_clearing_many_takes_more_than_one_transaction(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claude_mem.store.sqlite.vectors.REMOVED_AT_ONCE", 10)
    spots = in_two_projects(memories, 15)
    keeper = Builtin(memories.shelf)
    keeper.put(vectors_of(spots))
    keeper.clear()
    assert keeper.count() == 0
