"""What a person corrects: what the store is asked to change, and what the faces ask for. Each answer can be
taken back for a while.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from claude_mem.ports.desk import Data


class Correcting(Protocol):
    """Any thread may call it; any call may block. Raises BadQuestion, NotThere, ChangedMeanwhile, StoreError.

    Answers hold "undo": {"token", "until"}, or None when nothing was changed."""

    def edit(self, ref: str, given: Mapping[str, object]) -> Data:
        """{"ref", "undo"}. `given`: title, subtitle, narrative, facts, concepts, type; what is not there
        stays."""
        ...

    def pin(self, refs: Sequence[str], *, pinned: bool) -> Data:
        """{"results": [{"ref", "pinned"}], "missing", "undo"}."""
        ...

    def mark_wrong(self, refs: Sequence[str], *, wrong: bool) -> Data:
        """{"results": [{"ref", "wrong"}], "missing", "undo"}."""
        ...

    def merge(self, into: str, refs: Sequence[str]) -> Data:
        """{"into", "merged": refs, "undo"}: one stays, the others are superseded by it."""
        ...

    def undo(self, token: str) -> Data:
        """{"status": "undone", "what", "refs"}."""
        ...

    def forgot(self) -> None:
        """Something was forgotten: nothing of it can be brought back."""
        ...
