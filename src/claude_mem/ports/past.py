"""What taking in the past asks of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from claude_mem.store.values import BackfillProgress, KnownSession


class NotFromTheStart(Exception):
    """The rest of a story whose beginning was told to somebody else."""


class Listener(Protocol):
    """Whom stories of the past are told to."""

    def take(
        self, raw: bytes, *, offline: bool, story: str | None = None, part: str | None = None
    ) -> dict[str, Any]:
        """Lines of events; durable on return. Without a `story`: whole ones. Else a part of that: the first,
        one of more, or the last. Raises NotFromTheStart, StoreError."""
        ...

    def known(self, sessions: Sequence[str]) -> dict[str, KnownSession]: ...

    def progress(self, since: int) -> BackfillProgress: ...
