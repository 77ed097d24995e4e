"""An embedder that needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.contracts.vectors_contract import SIZE, vector

from claude_mem.vectors.backend import VectorsUnavailable


class Letters:
    """An embedder whose vectors count letters; what it was given is kept."""

    weight, batch = 0.5, 128

    def __init__(self, name: str = "letters", size: int = SIZE) -> None:
        self.name, self.size = name, size
        self.given: list[str] = []
        self.broken: str | None = None

    def is_ready(self) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> list[Any]:
        if self.broken:
            raise VectorsUnavailable(self.broken)
        self.given += texts
        return [
            vector(*(text.count(chr(97 + at)) + 0.1 for at in range(self.size)), size=self.size)
            for text in texts
        ]

    def embed_query(self, text: str, within_s: float) -> Any:
        del within_s
        return self.embed([text])[0]

    def close(self) -> None:
        """Holds nothing."""
