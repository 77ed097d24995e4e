"""What the pump asks of the store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from claude_mem.model.batch import Batch, Gathered
from claude_mem.model.job import Lease
from claude_mem.model.observation import Memory
from claude_mem.model.prompt import Spend


class Work(Protocol):
    """Queued events on their way to become memory."""

    def gathered(self) -> Sequence[Gathered]:
        """What waits in each session that nobody holds, the session that has waited longest first."""
        ...

    def lease(self, limit: int, session_id: int | None = None) -> Lease | None: ...

    def batch(self, lease: Lease) -> Batch:
        """The leased events with what has to be known around them."""
        ...

    def settle(self, lease: Lease, memory: Memory, spend: Spend | None = None) -> None: ...

    def postpone(
        self, lease: Lease, until: int, reason: str, *, failed: bool, spend: Spend | None = None
    ) -> None: ...

    def park(self, lease: Lease, reason: str, spend: Spend | None = None) -> None: ...
