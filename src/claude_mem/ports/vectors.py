"""What recall asks of embeddings and of whoever keeps them. Every backend passes
`testing.vectors_contract`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """Of length 1: a dot product is a cosine."""


class VectorsUnavailable(Exception):
    """The backend or the model cannot be used now; full text answers alone. `str()` says why, in one
    sentence."""


class Embedder(Protocol):
    """Turns text into vectors."""

    name: str
    """The model's: vectors of another are of no use beside its own."""
    weight: float
    """How much its opinion counts beside full text's; it belongs to the model's strength."""

    def is_ready(self) -> bool:
        """Whether the model is loaded; if not, loading begins, and nobody waits for it."""
        ...

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One for each text. Raises VectorsUnavailable. Any thread may call it; the first call loads the
        model."""
        ...


class Vectors(Protocol):
    """Keeps vectors by spot (see `model.recall.spot`). All methods block and raise VectorsUnavailable."""

    def put(self, vectors: Mapping[int, Vector]) -> None:
        """Add or replace. Durable on return."""
        ...

    def remove(self, spots: Sequence[int]) -> None:
        """Those that are not there are none of its business."""
        ...

    def nearest(self, vector: Vector, within: tuple[int, int] | None, limit: int) -> list[tuple[int, float]]:
        """The closest spots (of a span, or of all) and their cosines, the closest first."""
        ...

    def cosines(self, vector: Vector, spots: Sequence[int]) -> dict[int, float]:
        """Of those of these that are kept."""
        ...

    def count(self) -> int: ...

    def clear(self) -> None: ...
