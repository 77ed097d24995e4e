"""When a backend's libraries are loaded: when it is opened, in the background; never while somebody waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from claude_mem.ports.vectors import VectorsUnavailable
from claude_mem.vectors.keeper import Keeper

if TYPE_CHECKING:
    from claude_mem.ports.vectors import Vector


class Late:
    """A Keeper that becomes another one when it is opened. Until then all else raises VectorsUnavailable."""

    def __init__(self, name: str, make: Callable[[], Keeper]) -> None:
        self.name = name
        self._make = make
        self._made: Keeper | None = None
        self._ready = False

    def open(self, stamp: str) -> bool:
        self._ready = self._keeper().open(stamp)
        return self._ready

    def begin(self, stamp: str, before: str | None) -> None:
        self._keeper().begin(stamp, before)
        self._ready = True

    def put(self, vectors: Mapping[int, Vector]) -> None:
        self._opened().put(vectors)

    def remove(self, spots: Sequence[int]) -> None:
        self._opened().remove(spots)

    def nearest(self, vector: Vector, within: tuple[int, int] | None, limit: int) -> list[tuple[int, float]]:
        return self._opened().nearest(vector, within, limit)

    def cosines(self, vector: Vector, spots: Sequence[int]) -> dict[int, float]:
        return self._opened().cosines(vector, spots)

    def count(self) -> int:
        return self._opened().count()

    def clear(self) -> None:
        self._opened().clear()

    def close(self) -> None:
        self._ready = False
        if self._made is not None:
            self._made.close()

    def _keeper(self) -> Keeper:
        if self._made is None:
            try:
                self._made = self._make()
            except ImportError as error:
                raise VectorsUnavailable(
                    f"What {self.name} vectors need is not installed: {error}."
                ) from error
            except Exception as error:  # a library that does not like its surroundings says so in its own way
                raise VectorsUnavailable(f"What {self.name} vectors need cannot be used: {error}.") from error
        return self._made

    def _opened(self) -> Keeper:
        if self._made is None or not self._ready:
            raise VectorsUnavailable("The vectors are not ready yet.")
        return self._made
