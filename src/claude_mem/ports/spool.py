"""What ingest asks of the spool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from claude_mem.model.events import SpooledEvent


class Spool(Protocol):
    def names(self) -> list[str]:
        """All spooled files, oldest first."""
        ...

    def read(self, name: str) -> SpooledEvent:
        """Raises EventUnreadable for what is no event of ours, FileNotFoundError when it has gone, OSError
        when the machine cannot read now."""
        ...

    def remove(self, done: Sequence[SpooledEvent]) -> None:
        """They are committed: take them out of the spool."""
        ...

    def set_aside(self, name: str) -> None:
        """Keep a bad file where nobody trips over it again."""
        ...
