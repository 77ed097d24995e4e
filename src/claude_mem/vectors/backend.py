"""The interfaces of embedders and vector backends, and a backend that loads its libraries late."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    """A vector of length 1, so that a dot product is a cosine."""


class VectorsUnavailable(Exception):
    """The backend or the model cannot be used now; full text answers alone. `str()` says why, in one
    sentence."""


class VectorsStarting(VectorsUnavailable):
    """They are being opened in the background and will answer soon: nothing is wrong."""


class OtherDimension(VectorsUnavailable):
    """These vectors do not have the dimension of those that are stored."""

    def __init__(self, dimensions: Iterable[int]) -> None:
        shown = " and ".join(str(one) for one in sorted(dimensions))
        super().__init__(f"Vectors of {shown} dimensions cannot be compared.")


STATIC_WEIGHT = 0.75
"""The weight of a static model, which averages words regardless of order. Measured, see
docs/recall-quality.md."""
SENTENCE_WEIGHT = 1.5
"""The weight of a sentence model."""

STATIC_BATCH = 128
SENTENCE_BATCH = 16
"""About half a second of MiniLM on one core."""

QUERY_S = 2.0
"""How long a search waits for the vector of its query."""
HURRIED_S = 0.1
"""The same while a prompt waits."""


class Embedder(Protocol):
    """Turns text into vectors."""

    name: str
    """The name of the model; vectors of different models cannot be compared."""
    weight: float
    """Its weight relative to full text: STATIC_WEIGHT or SENTENCE_WEIGHT."""
    batch: int
    """How many texts it embeds at a time in the background, so that other work can run in between."""

    def is_ready(self) -> bool:
        """Whether it can answer a query immediately; if not, it is being prepared, and callers do not
        wait."""
        ...

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One for each text of memory. Raises VectorsUnavailable. Any thread may call it; the first call
        loads the model."""
        ...

    def embed_query(self, text: str, within_s: float) -> Vector:
        """Of what somebody looks for. Raises VectorsUnavailable, also when it would take longer; a model in
        this process takes the time it takes."""
        ...

    def close(self) -> None: ...


class VectorBackend(Protocol):
    """Stores vectors by key (see `model.refs`). It must be opened or begun before anything else is
    called. All methods block and raise VectorsUnavailable."""

    name: str

    def open(self, stamp: str) -> bool:
        """Opens the vectors with this stamp; False: there are none."""
        ...

    def begin(self, stamp: str, before: str | None) -> None:
        """Starts over with no vectors under a new stamp; those of the previous stamp are obsolete."""
        ...

    def put(self, vectors: Mapping[int, Vector]) -> None:
        """Add or replace. Durable on return."""
        ...

    def remove(self, memory_keys: Sequence[int]) -> None:
        """Keys that are not there are ignored."""
        ...

    def nearest(self, vector: Vector, project_id: int | None, limit: int) -> list[tuple[int, float]]:
        """The closest keys (of a project, or of all) and their cosines, the closest first."""
        ...

    def cosines(self, vector: Vector, memory_keys: Sequence[int]) -> dict[int, float]:
        """The cosines of those keys that have a vector."""
        ...

    def count(self) -> int: ...

    def clear(self) -> None: ...

    def close(self) -> None:
        """Releases its resources; it is not called afterwards."""
        ...


class LazyBackend:
    """A backend that becomes another one when it is opened: its libraries are loaded then, in the background,
    and never while somebody waits. Until then all else raises VectorsStarting, or why it could not be
    opened."""

    def __init__(self, name: str, make: Callable[[], VectorBackend]) -> None:
        self.name = name
        self._make = make
        self._made: VectorBackend | None = None
        self._ready = False
        self._failure: VectorsUnavailable | None = None

    def open(self, stamp: str) -> bool:
        with self._failure_recorded():
            self._ready = self._load().open(stamp)
        return self._ready

    def begin(self, stamp: str, before: str | None) -> None:
        with self._failure_recorded():
            self._load().begin(stamp, before)
        self._ready = True

    def put(self, vectors: Mapping[int, Vector]) -> None:
        self._opened().put(vectors)

    def remove(self, memory_keys: Sequence[int]) -> None:
        self._opened().remove(memory_keys)

    def nearest(self, vector: Vector, project_id: int | None, limit: int) -> list[tuple[int, float]]:
        return self._opened().nearest(vector, project_id, limit)

    def cosines(self, vector: Vector, memory_keys: Sequence[int]) -> dict[int, float]:
        return self._opened().cosines(vector, memory_keys)

    def count(self) -> int:
        return self._opened().count()

    def clear(self) -> None:
        self._opened().clear()

    def close(self) -> None:
        self._ready = False
        if self._made is not None:
            self._made.close()

    def _load(self) -> VectorBackend:
        if self._made is None:
            try:
                self._made = self._make()
            except ImportError as error:
                raise VectorsUnavailable(
                    f"A package that {self.name} vectors need is not installed: {error}."
                ) from error
            except Exception as error:  # libraries report an unsuitable environment in many ways
                raise VectorsUnavailable(f"{self.name} vectors cannot be used: {error}.") from error
        return self._made

    @contextmanager
    def _failure_recorded(self) -> Iterator[None]:
        """Stores why it could not be opened, for callers that query it."""
        try:
            yield
        except VectorsUnavailable as why:
            self._failure = why
            raise
        self._failure = None

    def _opened(self) -> VectorBackend:
        if self._made is None or not self._ready:
            raise VectorsUnavailable(str(self._failure)) if self._failure else VectorsStarting()
        return self._made
