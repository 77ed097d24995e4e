"""Finds the closest of many vectors by comparing all of them, in blocks of one byte per dimension.

A vector is stored as integers from -127 to 127, with its largest value at the end of that range. No scale is
stored, because a cosine does not depend on length. A block still fits in the processor's cache when it is
widened to single precision. This takes a quarter of the memory and is faster than comparing single-precision
vectors (see docs/adr/0006).

Blocks are immutable: readers need no lock, and a change creates a new block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from heapq import nlargest
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from claude_mem.model.errors import StoreError
from claude_mem.store.team import acting_as_service
from claude_mem.vectors.backend import OtherDimension, VectorsUnavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from claude_mem.store.base import VectorTable
    from claude_mem.vectors.backend import Vector


ROWS = 1_024


class Block(Struct, frozen=True, eq=False):
    memory_keys: NDArray[np.int64]
    rows: NDArray[np.int8]
    lengths: NDArray[np.float32]  # of the rows, so that a product becomes a cosine


Blocks = tuple[Block, ...]


def packed(vector: Vector) -> bytes:
    largest = float(np.abs(vector).max(initial=0.0))
    scaled = vector * (127.0 / largest) if largest else vector
    return np.rint(scaled).astype(np.int8).tobytes()


def block(rows: Sequence[tuple[int, bytes]]) -> Block:
    """Of at least one row, all of one length."""
    memory_keys = np.fromiter((memory_key for memory_key, _ in rows), dtype=np.int64, count=len(rows))
    matrix = np.frombuffer(b"".join(blob for _, blob in rows), dtype=np.int8).reshape(len(rows), -1)
    lengths = np.linalg.norm(matrix.astype(np.float32), axis=1)
    return Block(
        memory_keys, matrix, np.maximum(lengths, np.float32(1.0))
    )  # a row of zeros is close to nothing


def without(blocks: Blocks, memory_keys: Iterable[int]) -> Blocks:
    removed = np.fromiter(memory_keys, dtype=np.int64)
    return tuple(left for left in (_without(one, removed) for one in blocks) if len(left.memory_keys))


def with_(blocks: Blocks, blobs: Mapping[int, bytes]) -> Blocks:
    """Added, or put in the place of those at the same keys."""
    if not blobs:
        return blocks
    remaining = without(blocks, blobs)
    added = block(list(blobs.items()))
    if remaining and len(remaining[-1].memory_keys) + len(added.memory_keys) <= ROWS:
        *before, last = remaining
        return (*before, _joined(last, added))
    return (*remaining, added)


def size(blocks: Blocks) -> int:
    return sum(len(one.memory_keys) for one in blocks)


def closest(blocks: Blocks, vector: Vector, limit: int) -> list[tuple[int, float]]:
    """Keys and cosines, the closest first; of equals the later key."""
    total = size(blocks)
    if not total or limit < 1 or not vector.any():
        return []
    memory_keys = np.concatenate([one.memory_keys for one in blocks])
    scores = _cosines(blocks, vector, total)
    best = np.argpartition(scores, total - limit)[total - limit :] if limit < total else np.arange(total)
    order = best[np.lexsort((-memory_keys[best], -scores[best]))]
    return list(zip(memory_keys[order].tolist(), scores[order].tolist(), strict=True))


def cosines(one: Block, vector: Vector) -> dict[int, float]:
    scores = _cosines((one,), vector, len(one.memory_keys))
    return dict(zip(one.memory_keys.tolist(), scores.tolist(), strict=True))


def _cosines(blocks: Blocks, vector: Vector, total: int) -> NDArray[np.float32]:
    scores = np.empty(total, dtype=np.float32)
    wide = np.empty((max(len(one.memory_keys) for one in blocks), vector.size), dtype=np.float32)
    at = 0
    for one in blocks:
        count = len(one.memory_keys)
        part, singles = scores[at : at + count], wide[:count]
        np.copyto(singles, one.rows)
        np.dot(singles, vector, out=part)
        part /= one.lengths
        at += count
    return scores


def _without(one: Block, removed: NDArray[np.int64]) -> Block:
    left = ~np.isin(one.memory_keys, removed)
    return one if left.all() else Block(one.memory_keys[left], one.rows[left], one.lengths[left])


def _joined(one: Block, other: Block) -> Block:
    return Block(
        np.concatenate((one.memory_keys, other.memory_keys)),
        np.concatenate((one.rows, other.rows)),
        np.concatenate((one.lengths, other.lengths)),
    )


MOST = 100_000
"""The maximum vectors of a project: 26 MB, and 7 ms per query."""

CACHED_SCOPES = 2
"""How many scopes are cached: the current project, and all projects."""

SLACK = 1.1
"""A scope that exceeds its limit by this factor is read again without its oldest vectors."""

Scope = int | None
"""A project's id; None: all."""

SPARE = 16
"""How many more to read from a database that compares rounded numbers, because their order may change."""


class Builtin:
    """The default VectorBackend: vectors are in the database with their memories, and are compared in this
    process.

    For each project, and for all projects, a limited number of the newest vectors is held in memory; older
    ones still count for memories that full text has found (`cosines`)."""

    name = "builtin"

    def __init__(self, table: VectorTable, most: int = MOST) -> None:
        self._table, self._most = table, most
        self._stamp: str | None = None
        self._mark: int | None = None  # up to where it was followed what other processes store
        self._cached: dict[Scope, Blocks] = {}  # its values never change, so reading needs no lock
        self._changing = Lock()  # what is read from the table must not miss what is put there meanwhile

    def open(self, stamp: str) -> bool:
        """It lies in the same file as the vectors, and goes with them. A new one: some have other keys
        now."""
        with self._changing:
            if self._stamp not in (None, stamp):
                self._cached = {}
            self._stamp = stamp
        return True

    def begin(self, stamp: str, before: str | None) -> None:
        del stamp, before
        self.clear()

    def put(self, vectors: Mapping[int, Vector]) -> None:
        with self._changing, translated_errors():
            agree(self._dimensions().union(vector.size for vector in vectors.values()))
            blobs = {memory_key: packed(vector) for memory_key, vector in vectors.items()}
            saved = self._table.put(blobs)
            for scope, cached in list(self._cached.items()):
                more = {key: blobs[key] for key, project_id in saved.items() if scope in (None, project_id)}
                self._cache(scope, with_(cached, more))

    def remove(self, memory_keys: Sequence[int]) -> None:
        with self._changing, translated_errors():
            self._table.remove(memory_keys)
            for scope, cached in list(self._cached.items()):
                self._cache(scope, without(cached, memory_keys))

    def nearest(self, vector: Vector, project_id: Scope, limit: int) -> list[tuple[int, float]]:
        compared = self._compared_there(vector, project_id, limit)
        if compared is not None:
            return compared
        self._follow()
        cached = self._cached.get(project_id)
        if cached is None:
            cached = self._read(project_id)
        agree({vector.size} | {one.rows.shape[1] for one in cached[:1]})
        found = closest(cached, vector, limit)
        with translated_errors():  # what was forgotten a moment ago may still be held
            existing = self._table.existing([memory_key for memory_key, _ in found])
        return [(memory_key, cosine) for memory_key, cosine in found if memory_key in existing]

    def cosines(self, vector: Vector, memory_keys: Sequence[int]) -> dict[int, float]:
        with translated_errors():
            found = self._table.blobs(memory_keys)
        agree({vector.size} | {len(blob) for blob in found.values()})
        return cosines(block(list(found.items())), vector) if found else {}

    def count(self) -> int:
        with translated_errors():
            return self._table.count()

    def clear(self) -> None:
        with self._changing, translated_errors():
            self._table.clear()
            self._cached = {}

    def close(self) -> None:
        self._cached = {}

    def _compared_there(
        self, vector: Vector, project_id: Scope, limit: int
    ) -> list[tuple[int, float]] | None:
        """Where the database compares: what it finds closest, in the order of our own numbers. None: it does
        not."""
        with translated_errors():
            found = self._table.nearest(vector.tolist(), project_id, limit + SPARE)
        if found is None:
            return None
        if self._cached:
            with self._changing:
                self._cached = {}
        agree({vector.size} | {len(blob) for _, blob in found})
        return closest((block(found),), vector, limit) if found else []

    def _read(self, scope: Scope) -> Blocks:
        with self._changing, translated_errors():
            if scope not in self._cached:
                rows = self._table.newest(scope, self._most, ROWS)
                self._cached = dict(list(self._cached.items())[-(CACHED_SCOPES - 1) :])
                self._cached[scope] = tuple(uniform(rows))
            return self._cached[scope]

    def _follow(self) -> None:
        """Reads the vectors that other processes have stored since the last call."""
        with self._changing, translated_errors():
            self._mark, changed = self._table.changes(self._mark if self._cached else None)
            if changed is None:
                self._cached = {}
            elif changed:
                for scope, cached in list(self._cached.items()):
                    some = changed.values() if scope is None else [changed.get(scope, {})]
                    more = {key: blob for blobs in some for key, blob in blobs.items()}
                    self._cache(scope, with_(cached, more))

    def _cache(self, scope: Scope, cached: Blocks) -> None:
        if size(cached) > self._most * SLACK:
            del self._cached[scope]
        else:
            self._cached[scope] = cached

    def _dimensions(self) -> set[int]:
        """The number of dimensions of the stored vectors; none, if there are no vectors."""
        return {len(blob) for rows in self._table.newest(None, 1, 1) for _, blob in rows}


MOST_CACHED = 400_000
"""Vectors of all projects together: about 100 MB."""


class ProjectVectors(Builtin):
    """Vectors in the memory of a team's server, by project.

    They are read as the server itself and used for the queries of all members. A query only compares vectors
    of projects that the member may read, and each result is looked up in the table as that member."""

    def __init__(
        self,
        table: VectorTable,
        *,
        visible: Callable[[], Sequence[int]],
        most: int = MOST,
        most_cached: int = MOST_CACHED,
    ) -> None:
        """`visible`: the projects that the acting member reads."""
        super().__init__(table, most)
        self._visible, self._most_cached = visible, most_cached

    def nearest(self, vector: Vector, project_id: Scope, limit: int) -> list[tuple[int, float]]:
        compared = self._compared_there(vector, project_id, limit)
        if compared is not None:
            return compared
        with translated_errors():
            scopes = self._visible() if project_id is None else [project_id]
            with acting_as_service():
                self._follow()
                blocks = [self._cached.get(scope) or self._read(scope) for scope in scopes]
        agree({vector.size}.union(one.rows.shape[1] for cached in blocks for one in cached[:1]))
        found = [pair for cached in blocks for pair in closest(cached, vector, limit)]
        best = nlargest(limit, found, key=lambda pair: (pair[1], pair[0]))
        with translated_errors():
            existing = self._table.existing([memory_key for memory_key, _ in best])
        return [(memory_key, cosine) for memory_key, cosine in best if memory_key in existing]

    def _read(self, scope: Scope) -> Blocks:
        """Reads projects; those that were read first are dropped to make room."""
        with self._changing, translated_errors():
            if scope not in self._cached:
                found = tuple(uniform(self._table.newest(scope, self._most, ROWS)))
                others = dict(self._cached)
                while others and size(found) + sum(map(size, others.values())) > self._most_cached:
                    del others[next(iter(others))]
                self._cached = others | {scope: found}
            return self._cached[scope]


def uniform(rows: Iterable[list[tuple[int, bytes]]]) -> Iterator[Block]:
    for some in rows:
        agree({len(blob) for _, blob in some})
        yield block(some)


def agree(dimensions: set[int]) -> None:
    if len(dimensions) > 1:
        raise OtherDimension(dimensions)


@contextmanager
def translated_errors() -> Iterator[None]:
    try:
        yield
    except StoreError as error:
        raise VectorsUnavailable(str(error)) from error
