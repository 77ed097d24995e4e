"""What is asked of a backend beyond `Vectors`: whether what it keeps is what was made before."""

from __future__ import annotations

from typing import Protocol

from claude_mem.ports.vectors import Vectors


class Keeper(Vectors, Protocol):
    """To be opened or begun before anything else is asked of it."""

    name: str

    def open(self, stamp: str) -> bool:
        """Go on with the vectors of this stamp; False: it keeps none under it."""
        ...

    def begin(self, stamp: str, before: str | None) -> None:
        """Keep none, under a new stamp; those of the stamp before are of no use any more."""
        ...

    def close(self) -> None:
        """Let go of what it holds; nothing is asked of it from here on."""
        ...
