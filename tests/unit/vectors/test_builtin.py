"""Comparing many vectors at one byte a dimension."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.store_contract import ORIGIN
from tests.contracts.vectors_contract import vector, vectors_of
from tests.unit.vectors.memories import OTHER, Memories, in_two_projects, opened

from claude_mem.model.refs import span
from claude_mem.vectors import builtin
from claude_mem.vectors.builtin import ROWS, Blocks, Builtin


def made(memory_keys: list[int], seed: int = 7) -> dict[int, bytes]:
    return {memory_key: builtin.packed(one) for memory_key, one in vectors_of(memory_keys, seed).items()}


def keys_of(held: Blocks) -> list[int]:
    return sorted(int(memory_key) for one in held for memory_key in one.memory_keys)


def test_a_packed_vector_points_where_it_did() -> None:
    for one in vectors_of(list(range(200))).values():
        packed = np.frombuffer(builtin.packed(one), dtype=np.int8).astype(np.float32)
        assert float(packed @ one) / float(np.linalg.norm(packed)) > 0.999


def test_zeros_pack_to_zeros_and_are_close_to_nothing() -> None:
    zeros = np.zeros(16, dtype=np.float32)
    one = builtin.block([(1, builtin.packed(zeros)), (2, builtin.packed(vector(1)))])
    assert builtin.cosines(one, vector(1)) == {1: 0.0, 2: 1.0}


@given(st.lists(st.tuples(st.booleans(), st.sets(st.integers(1, 40), min_size=1)), max_size=12))
def test_after_any_changes_it_holds_what_a_dictionary_would(changes: list[tuple[bool, set[int]]]) -> None:
    held: Blocks = ()
    truth: dict[int, bytes] = {}
    for number, (adding, memory_keys) in enumerate(changes):
        if adding:
            some = made(sorted(memory_keys), seed=number)
            held, truth = builtin.with_(held, some), truth | some
        else:
            held = builtin.without(held, memory_keys)
            truth = {memory_key: blob for memory_key, blob in truth.items() if memory_key not in memory_keys}
    assert keys_of(held) == sorted(truth)
    rows = {
        int(memory_key): row.tobytes()
        for one in held
        for memory_key, row in zip(one.memory_keys, one.rows, strict=True)
    }
    assert rows == truth


def test_blocks_that_were_read_do_not_change() -> None:
    before = builtin.with_((), made([1, 2, 3]))
    asked = builtin.closest(before, vector(1), 3)
    builtin.without(builtin.with_(before, made([2, 4], seed=9)), [1])
    assert builtin.closest(before, vector(1), 3) == asked


def test_small_additions_fill_a_block_before_another_is_begun() -> None:
    held: Blocks = ()
    for memory_key in range(ROWS + 1):
        held = builtin.with_(held, {memory_key: builtin.packed(vector(1))})
    assert [len(one.memory_keys) for one in held] == [ROWS, 1]


def test_of_equals_the_later_comes_first() -> None:
    held = builtin.with_((), {memory_key: builtin.packed(vector(1)) for memory_key in (5, 9, 7)})
    assert [memory_key for memory_key, _ in builtin.closest(held, vector(1), 3)] == [9, 7, 5]


@pytest.mark.parametrize("limit", [1, 7, 300, 301, 1_000])
def test_the_closest_are_found_across_blocks(limit: int) -> None:
    vectors = vectors_of(list(range(300)))
    held: Blocks = tuple(
        builtin.block(
            [(memory_key, builtin.packed(vectors[memory_key])) for memory_key in range(at, at + 100)]
        )
        for at in (0, 100, 200)
    )
    found = [memory_key for memory_key, _ in builtin.closest(held, vector(1), limit)]
    truth = sorted(vectors, key=lambda memory_key: -float(vectors[memory_key][0]))[:limit]
    assert len(found) == min(limit, 300)
    assert len(set(found) & set(truth)) >= 0.95 * len(found)


# Vectors in the database: what is held ready, and what is not.


@pytest.fixture
def memories(tmp_path: Path) -> Iterator[Memories]:
    with opened(tmp_path) as memories:
        yield memories


def test_a_memory_that_does_not_exist_gets_no_vector(memories: Memories) -> None:
    (memory_key,) = memories.learn("abc")
    backend = Builtin(memories.table)
    backend.put({memory_key: vector(1), memory_key + 1: vector(1), span(7)[0] + 5: vector(1)})
    assert backend.count() == 1
    assert [found for found, _ in backend.nearest(vector(1), None, 5)] == [memory_key]


def test_only_the_newest_are_compared_but_all_have_cosines(memories: Memories) -> None:
    memory_keys = in_two_projects(memories, 60)
    backend = Builtin(memories.table, most=20)
    backend.put({memory_key: vector(1, memory_key % 5) for memory_key in memory_keys})
    for project, own in ((1, memory_keys[:60]), (2, memory_keys[60:])):
        found = backend.nearest(vector(1), project, 200)
        assert {memory_key for memory_key, _ in found} == set(own[-20:])
    assert backend.cosines(vector(1), memory_keys).keys() == set(memory_keys)


def test_of_all_projects_the_newest_sessions_are_compared(memories: Memories) -> None:
    memory_keys = []
    for number in range(30):
        origin = OTHER if number % 2 else ORIGIN
        memory_keys += memories.learn(f"a {number}", f"b {number}", session=f"s{number}", origin=origin)
    backend = Builtin(memories.table, most=16)
    backend.put({memory_key: vector(1) for memory_key in memory_keys})
    assert {memory_key for memory_key, _ in backend.nearest(vector(1), None, 200)} == set(memory_keys[-8:])


def test_a_project_that_outgrows_its_bound_lets_its_oldest_go(memories: Memories) -> None:
    memory_keys = memories.learn(*(f"title {number}" for number in range(60)))
    backend = Builtin(memories.table, most=20)
    for memory_key, one in vectors_of(memory_keys).items():
        backend.put({memory_key: one})
        assert 1 <= len(backend.nearest(vector(1), 1, 200)) <= 22
    assert set(memory_keys[-20:]) <= {memory_key for memory_key, _ in backend.nearest(vector(1), 1, 200)}


def test_under_a_new_stamp_what_is_held_is_read_again(memories: Memories) -> None:
    """A project was merged into another: its memories have other memory_keys now."""
    memory_keys = in_two_projects(memories, 3)
    backend = Builtin(memories.table)
    backend.put({memory_key: vector(1) for memory_key in memory_keys})
    backend.open("one")
    assert len(backend.nearest(vector(1), 1, 9)) == len(backend.nearest(vector(1), 2, 9)) == 3
    memories.store.projects.merge(2, 1)
    backend.open("one")
    assert len(backend.nearest(vector(1), 1, 9)) == 3
    backend.open("another")
    assert len(backend.nearest(vector(1), 1, 9)) == 6
    assert backend.nearest(vector(1), 2, 9) == []


def test_no_more_than_a_project_and_all_are_held(memories: Memories) -> None:
    in_two_projects(memories, 3)
    backend = Builtin(memories.table)
    for within in (1, 2, None, 3, 1):
        backend.nearest(vector(1), within, 1)
    assert len(backend._cached) == 2


def test_clearing_many_takes_more_than_one_transaction(
    memories: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("claude_mem.store.relational.vector_table.REMOVED_AT_ONCE", 10)
    memory_keys = in_two_projects(memories, 15)
    backend = Builtin(memories.table)
    backend.put(vectors_of(memory_keys))
    backend.clear()
    assert backend.count() == 0
