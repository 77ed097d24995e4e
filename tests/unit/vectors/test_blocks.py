"""Comparing many vectors at one byte a dimension."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.vectors_contract import vector, vectors_of

from claude_mem.vectors import blocks
from claude_mem.vectors.blocks import ROWS, Blocks


def made(spots: list[int], seed: int = 7) -> dict[int, bytes]:
    return {spot: blocks.packed(one) for spot, one in vectors_of(spots, seed).items()}


def spots_of(held: Blocks) -> list[int]:
    return sorted(int(spot) for one in held for spot in one.spots)


def test_a_packed_vector_points_where_it_did() -> None:
    for one in vectors_of(list(range(200))).values():
        packed = np.frombuffer(blocks.packed(one), dtype=np.int8).astype(np.float32)
        assert float(packed @ one) / float(np.linalg.norm(packed)) > 0.999


def test_zeros_pack_to_zeros_and_are_close_to_nothing() -> None:
    zeros = np.zeros(16, dtype=np.float32)
    one = blocks.block([(1, blocks.packed(zeros)), (2, blocks.packed(vector(1)))])
    assert blocks.cosines(one, vector(1)) == {1: 0.0, 2: 1.0}


@given(st.lists(st.tuples(st.booleans(), st.sets(st.integers(1, 40), min_size=1)), max_size=12))
def test_after_any_changes_it_holds_what_a_dictionary_would(changes: list[tuple[bool, set[int]]]) -> None:
    held: Blocks = ()
    truth: dict[int, bytes] = {}
    for number, (adding, spots) in enumerate(changes):
        if adding:
            some = made(sorted(spots), seed=number)
            held, truth = blocks.with_(held, some), truth | some
        else:
            held = blocks.without(held, spots)
            truth = {spot: blob for spot, blob in truth.items() if spot not in spots}
    assert spots_of(held) == sorted(truth)
    rows = {int(spot): row.tobytes() for one in held for spot, row in zip(one.spots, one.rows, strict=True)}
    assert rows == truth


def test_blocks_that_were_read_do_not_change() -> None:
    before = blocks.with_((), made([1, 2, 3]))
    asked = blocks.closest(before, vector(1), 3)
    blocks.without(blocks.with_(before, made([2, 4], seed=9)), [1])
    assert blocks.closest(before, vector(1), 3) == asked


def test_small_additions_fill_a_block_before_another_is_begun() -> None:
    held: Blocks = ()
    for spot in range(ROWS + 1):
        held = blocks.with_(held, {spot: blocks.packed(vector(1))})
    assert [len(one.spots) for one in held] == [ROWS, 1]


def test_of_equals_the_later_comes_first() -> None:
    held = blocks.with_((), {spot: blocks.packed(vector(1)) for spot in (5, 9, 7)})
    assert [spot for spot, _ in blocks.closest(held, vector(1), 3)] == [9, 7, 5]


@pytest.mark.parametrize("limit", [1, 7, 300, 301, 1_000])
def test_the_closest_are_found_across_blocks(limit: int) -> None:
    vectors = vectors_of(list(range(300)))
    held: Blocks = tuple(
        blocks.block([(spot, blocks.packed(vectors[spot])) for spot in range(at, at + 100)])
        for at in (0, 100, 200)
    )
    found = [spot for spot, _ in blocks.closest(held, vector(1), limit)]
    truth = sorted(vectors, key=lambda spot: -float(vectors[spot][0]))[:limit]
    assert len(found) == min(limit, 300)
    assert len(set(found) & set(truth)) >= 0.95 * len(found)
