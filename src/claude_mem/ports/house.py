"""What the faces ask of the one who keeps house. Answers are plain data, ready for JSON."""

from __future__ import annotations

from typing import Protocol

from claude_mem.ports.desk import Data


class House(Protocol):
    """Any thread may call it; any call may block. Raises BadQuestion, NotThere, StoreError."""

    def overview(self) -> Data:
        """{"items": projects with their size, "hints": [{"from", "into", "names", "why"}]}: the one last
        worked in first, and which may be the same."""
        ...

    def rename(self, given: str, name: str) -> Data:
        """{"key", "before", "name"}. A project is given by its key, or by its name if only one has it."""
        ...

    def merge(self, given: str, into: str, *, dry_run: bool) -> Data:
        """{"dry_run", "from", "into", "sessions", "observations"}."""
        ...

    def collect(self, *, dry_run: bool) -> Data:
        """{"dry_run", "items": [{"what", "count", "bytes"}], "bytes", "database": {"size", "free",
        "log"}}."""
        ...
