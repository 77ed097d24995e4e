"""How the closest of many vectors are found: all are compared, in blocks of one byte a dimension.

A vector is kept as whole numbers from -127 to 127, its largest one at the end of that range. No scale is
kept: a cosine does not change with length. A block fits the processor's cache when it is widened to single
precision, which makes it a quarter of the memory and still faster than comparing singles (see docs/adr/0006).

Blocks never change. Whoever reads one needs no lock; whoever changes something makes another.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from claude_mem.ports.vectors import Vector

ROWS = 1_024


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    spots: NDArray[np.int64]
    rows: NDArray[np.int8]
    lengths: NDArray[np.float32]  # of the rows, so that a product becomes a cosine


Blocks = tuple[Block, ...]


def packed(vector: Vector) -> bytes:
    largest = float(np.abs(vector).max(initial=0.0))
    scaled = vector * (127.0 / largest) if largest else vector
    return np.rint(scaled).astype(np.int8).tobytes()


def block(rows: Sequence[tuple[int, bytes]]) -> Block:
    """Of at least one row, all of one length."""
    spots = np.fromiter((spot for spot, _ in rows), dtype=np.int64, count=len(rows))
    matrix = np.frombuffer(b"".join(blob for _, blob in rows), dtype=np.int8).reshape(len(rows), -1)
    lengths = np.linalg.norm(matrix.astype(np.float32), axis=1)
    return Block(spots, matrix, np.maximum(lengths, np.float32(1.0)))  # a row of zeros is close to nothing


def without(blocks: Blocks, spots: Iterable[int]) -> Blocks:
    gone = np.fromiter(spots, dtype=np.int64)
    return tuple(left for left in (_without(one, gone) for one in blocks) if len(left.spots))


def with_(blocks: Blocks, blobs: Mapping[int, bytes]) -> Blocks:
    """Added, or put in the place of those at the same spots."""
    if not blobs:
        return blocks
    kept = without(blocks, blobs)
    added = block(list(blobs.items()))
    if kept and len(kept[-1].spots) + len(added.spots) <= ROWS:
        *before, last = kept
        return (*before, _joined(last, added))
    return (*kept, added)


def size(blocks: Blocks) -> int:
    return sum(len(one.spots) for one in blocks)


def closest(blocks: Blocks, vector: Vector, limit: int) -> list[tuple[int, float]]:
    """Spots and cosines, the closest first; of equals the later spot."""
    total = size(blocks)
    if not total or limit < 1 or not vector.any():
        return []
    spots = np.concatenate([one.spots for one in blocks])
    scores = _cosines(blocks, vector, total)
    best = np.argpartition(scores, total - limit)[total - limit :] if limit < total else np.arange(total)
    order = best[np.lexsort((-spots[best], -scores[best]))]
    return [(int(spots[at]), float(scores[at])) for at in order]


def cosines(one: Block, vector: Vector) -> dict[int, float]:
    scores = _cosines((one,), vector, len(one.spots))
    return dict(zip(one.spots.tolist(), scores.tolist(), strict=True))


def _cosines(blocks: Blocks, vector: Vector, total: int) -> NDArray[np.float32]:
    scores = np.empty(total, dtype=np.float32)
    wide = np.empty((max(len(one.spots) for one in blocks), vector.size), dtype=np.float32)
    at = 0
    for one in blocks:
        count = len(one.spots)
        part, singles = scores[at : at + count], wide[:count]
        np.copyto(singles, one.rows)
        np.dot(singles, vector, out=part)
        part /= one.lengths
        at += count
    return scores


def _without(one: Block, gone: NDArray[np.int64]) -> Block:
    left = ~np.isin(one.spots, gone)
    return one if left.all() else Block(one.spots[left], one.rows[left], one.lengths[left])


def _joined(one: Block, other: Block) -> Block:
    return Block(
        np.concatenate((one.spots, other.spots)),
        np.concatenate((one.rows, other.rows)),
        np.concatenate((one.lengths, other.lengths)),
    )
