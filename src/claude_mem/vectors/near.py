"""The vectors' opinion of a query: how close it is to some memories, and which others are closest to it."""

from __future__ import annotations

from collections.abc import Iterable

from claude_mem.ports.vectors import Embedder, Vectors

NEAREST = 200


class Nearby:
    def __init__(self, embedder: Embedder, vectors: Vectors, nearest: int = NEAREST) -> None:
        self._embedder, self._vectors, self._nearest = embedder, vectors, nearest
        self.weight = embedder.weight

    def is_ready(self) -> bool:
        """Whether it answers at once; if not, the model is being loaded now."""
        return self._embedder.is_ready()

    def cosines(
        self, query: str, within: tuple[int, int] | None, spots: Iterable[int], *, nearest: bool = True
    ) -> dict[int, float]:
        """Of these spots, as far as they have vectors, and of those nearest to the query. Raises
        VectorsUnavailable."""
        (vector,) = self._embedder.embed([query])
        if not vector.any():
            return {}  # no words that the model knows
        close = dict(self._vectors.nearest(vector, within, self._nearest)) if nearest else {}
        return close | self._vectors.cosines(vector, [spot for spot in spots if spot not in close])
