"""The vectors' opinion of a query: how close it is to some memories, and which others are closest to it."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from itertools import islice
from typing import TYPE_CHECKING

from claude_mem.ports.library import Passing
from claude_mem.ports.vectors import Embedder, Vectors

if TYPE_CHECKING:
    from claude_mem.ports.vectors import Vector

NEAREST = 200
WIDER = 8
"""So many times as many are compared when too few of the nearest pass."""


class Nearby:
    def __init__(self, embedder: Embedder, vectors: Vectors, nearest: int = NEAREST) -> None:
        self._embedder, self._vectors, self._nearest = embedder, vectors, nearest
        self.weight = embedder.weight

    def is_ready(self) -> bool:
        """Whether it answers at once; if not, the model is being loaded now."""
        return self._embedder.is_ready()

    def cosines(
        self,
        query: str,
        within: tuple[int, int] | None,
        spots: Iterable[int],
        *,
        nearest: bool = True,
        passing: Passing | None = None,
    ) -> dict[int, float]:
        """Of these spots, as far as they have vectors, and of those nearest to the query that pass. Raises
        VectorsUnavailable."""
        (vector,) = self._embedder.embed([query])
        if not vector.any():
            return {}  # no words that the model knows
        close = self._close(vector, within, passing) if nearest else {}
        return close | self._vectors.cosines(vector, [spot for spot in spots if spot not in close])

    def _close(
        self, vector: Vector, within: tuple[int, int] | None, passing: Passing | None
    ) -> dict[int, float]:
        if passing is None:
            return dict(self._vectors.nearest(vector, within, self._nearest))
        if passing.few is not None:
            found = self._vectors.cosines(vector, list(passing.few))
            return dict(nlargest(self._nearest, found.items(), key=lambda pair: (pair[1], pair[0])))
        limit = self._nearest
        while True:
            nearest = self._vectors.nearest(vector, within, limit)
            passed = passing(spot for spot, _ in nearest)
            if len(passed) >= self._nearest or len(nearest) < limit:
                fitting = ((spot, cosine) for spot, cosine in nearest if spot in passed)
                return dict(islice(fitting, self._nearest))
            limit *= WIDER
