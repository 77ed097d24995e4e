"""What the pump, and those who watch over it, ask of the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from claude_mem.model.jobs import Gathered, Lease, Spend, Spent
from claude_mem.model.memory import Batch, Memory


class Work(Protocol):
    """Queued events on their way to become memory. No lease is ever of a failed session."""

    def gathered(self) -> Sequence[Gathered]:
        """What waits in each session that nobody holds: those that are due by the time of their oldest job,
        then those that must wait, the soonest first. Of many sessions the first few dozen."""
        ...

    def lease(self, limit: int, session_id: int | None = None) -> Lease | None:
        """The run of ready jobs, of the next session or of this one, up to the end of a turn."""
        ...

    def batch(self, lease: Lease) -> Batch:
        """The leased events with what has to be known around them."""
        ...

    def settle(
        self, lease: Lease, memory: Memory, spend: Spend | None = None, *, provider: str | None = None
    ) -> None:
        """Keep what was learned (by `provider`) and what it cost, and mark the jobs done, in one transaction.
        What the project remembers already is not stored twice."""
        ...

    def postpone(
        self, lease: Lease, until: int, reason: str, *, failed: bool, spend: Spend | None = None
    ) -> None: ...

    def park(self, lease: Lease, reason: str, spend: Spend | None = None) -> None: ...


class Parked(Protocol):
    """What a person does about work that was given up."""

    def resume(self, job_ids: Sequence[int] | None = None) -> int:
        """Make parked jobs ready again (all, when none are named)."""
        ...

    def drop(self, job_ids: Sequence[int]) -> int:
        """Parked jobs are done with, unobserved; they stay as evidence. Returns how many were parked."""
        ...


@dataclass(frozen=True, slots=True)
class Spending:
    """One day's calls of one model for one project."""

    day: str  # 2026-01-31, UTC
    project: str
    provider: str
    model: str
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float | None  # None: not known of any of them


class Ledger(Protocol):
    """What observing costs."""

    def spent(self, session_id: int, now: int) -> Spent:
        """By this session in its life, and by all since midnight UTC."""
        ...

    def spending(self, since: int) -> list[Spending]: ...
