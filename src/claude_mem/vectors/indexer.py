"""Updates the vectors when memories change, and computes how close a query is to them.

Nothing depends on it: while the backend or the model cannot be used, search uses full text only, `doctor`
shows the reason, and missing vectors are added later.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import nlargest
from typing import TYPE_CHECKING

from claude_mem.model.errors import StoreError
from claude_mem.settings import Settings
from claude_mem.store.base import EmbeddingProgress, KeyFilter
from claude_mem.vectors.backend import (
    HURRIED_S,
    QUERY_S,
    Embedder,
    LazyBackend,
    OtherDimension,
    VectorBackend,
    VectorsUnavailable,
)

if TYPE_CHECKING:
    from claude_mem.store.base import VectorTable
    from claude_mem.vectors.backend import Vector


RETRY_MS = 30_000
LOOK_MS = 30_000
"""How often to check that a backend still has its vectors, because servers may lose data silently."""


class VectorIndexer:
    """One loop of the worker calls `step`; any thread may use `trouble` and `waiting`."""

    def __init__(self, source: EmbeddingProgress, vectors: VectorBackend, embedder: Embedder) -> None:
        self._source, self._vectors, self._embedder = source, vectors, embedder
        self.embedder = embedder.name
        self._maker = f"{vectors.name} {embedder.name}"
        self._not_before = 0
        self._look_at = 0
        self.trouble: str | None = None
        """Why there are no vectors now, in one sentence; None: there are."""

    def step(self, now: int) -> int:
        """Do some of what is to be done; how many memories that were. 0: nothing can be done now.

        Raises nothing that the database or a backend may do: after a failure it waits a while.
        """
        if now < self._not_before:
            return 0
        try:
            if now >= self._look_at:
                self._look()
                self._look_at = now + LOOK_MS
            done = self._step()
        except (VectorsUnavailable, StoreError) as why:
            self.trouble = str(why)
            self._not_before = self._look_at = now + RETRY_MS
            return 0
        self.trouble = None
        return done

    def rebuild(self) -> None:
        """Rebuilds all vectors. Raises VectorsUnavailable, StoreError."""
        before = self._source.made()
        self._vectors.begin(self._source.begin(self._maker), before and before[1])

    def waiting(self) -> int:
        """How many memories have no vector, at most. Raises StoreError."""
        return self._source.waiting(self._maker)

    def _step(self) -> int:
        forgotten = self._forget()
        batch = self._source.unembedded(self._embedder.batch)
        if batch is None:
            return forgotten + self._source.copy()
        if batch.texts:
            vectors = self._embedder.embed([text for _, text in batch.texts])
            try:
                self._vectors.put(
                    {memory_key: vector for (memory_key, _), vector in zip(batch.texts, vectors, strict=True)}
                )
            except OtherDimension:
                self.rebuild()  # another model answers under the same name: a server's was exchanged
                raise
        # If killed before this, they are computed again. If a memory was deleted while its vector was
        # computed, this is recorded, and the next step removes the vector.
        self._source.embedded(batch.marks, batch.settled)
        return forgotten + max(1, len(batch.texts))

    def _look(self) -> None:
        """Rebuilds the vectors unless the stored ones are from this model and backend, and still exist."""
        made = self._source.made()
        if made is None or made[0] != self._maker or not self._vectors.open(made[1]):
            self.rebuild()
        self._source.note_used()

    def _forget(self) -> int:
        note = self._source.forgotten()
        if note is None:
            return 0
        name, memory_keys = note
        self._vectors.remove(memory_keys)
        self._source.settle(name)
        return len(memory_keys)


NEAREST = 200
WIDER = 8
"""The factor for reading more if some may not pass a filter; applied twice if very few do. Vectors farther
away are not relevant."""


class Similarity:
    """The vectors' opinion of a query: how close it is to some memories, and which others are closest to
    it."""

    def __init__(self, embedder: Embedder, vectors: VectorBackend, nearest: int = NEAREST) -> None:
        self._embedder, self._vectors, self._nearest = embedder, vectors, nearest
        self.weight = embedder.weight

    def is_ready(self) -> bool:
        """Whether it answers at once; if not, the model is being loaded now."""
        return self._embedder.is_ready()

    def cosines(
        self,
        query: str,
        project_id: int | None,
        memory_keys: Iterable[int],
        *,
        nearest: bool = True,
        key_filter: KeyFilter | None = None,
    ) -> dict[int, float]:
        """Of these keys, as far as they have vectors, and of those nearest to the query that pass. Raises
        VectorsUnavailable."""
        vector = self._embedder.embed_query(query, QUERY_S if nearest else HURRIED_S)
        if not vector.any():
            return {}  # no words that the model knows
        close = self._close(vector, project_id, key_filter) if nearest else {}
        return close | self._vectors.cosines(
            vector, [memory_key for memory_key in memory_keys if memory_key not in close]
        )

    def _close(
        self, vector: Vector, project_id: int | None, key_filter: KeyFilter | None
    ) -> dict[int, float]:
        if key_filter is None:
            return dict(self._vectors.nearest(vector, project_id, self._nearest))
        if key_filter.listed is not None:
            found = self._vectors.cosines(vector, list(key_filter.listed))
            return dict(nlargest(self._nearest, found.items(), key=lambda pair: (pair[1], pair[0])))
        passing: list[tuple[int, float]] = []
        for limit in (self._nearest * WIDER, self._nearest * WIDER**2):
            nearest = self._vectors.nearest(vector, project_id, limit)
            passed = key_filter(key for key, _ in nearest)
            passing = [(key, cosine) for key, cosine in nearest if key in passed]
            if len(passing) * WIDER >= self._nearest or len(nearest) < limit:
                break
        return dict(passing[: self._nearest])


CHROMA = "chroma"
"""The folder in the data directory."""


def backend_of(settings: Settings, table: VectorTable) -> VectorBackend | None:
    """The backend that the settings name; None: the user wants none. Nothing heavy is loaded
    before its use."""

    def builtin() -> VectorBackend:
        from claude_mem.vectors.builtin import Builtin

        return Builtin(table)

    def chroma() -> VectorBackend:
        from claude_mem.vectors.chroma import Chroma

        return Chroma(settings.data_path(CHROMA), settings.chroma_url, projects=table.projects)

    match settings.vectors:
        case "off":
            return None
        case "chroma":
            return LazyBackend("chroma", chroma)
        case "builtin":
            return LazyBackend("builtin", builtin)
