"""What the stages ask of the store. Every backend passes the contract suite in `tests/contracts`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from claude_mem.model.events import Event, Origin
from claude_mem.model.jobs import Job, JobState, Lease, QueueFigures, Session
from claude_mem.model.memory import Memory


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event and where it happened, ready to be accepted."""

    event: Event
    origin: Origin


@dataclass(frozen=True, slots=True)
class Accepted:
    """What one transaction took in."""

    fresh: int = 0
    duplicate: int = 0
    session_ids: tuple[int, ...] = ()  # the database ids, one for each arrival, in its order


class Inbox(Protocol):
    """Takes events in, once each."""

    def accept(self, arrivals: Sequence[Arrival]) -> Accepted:
        """Commit all of them in one transaction: sessions, prompts and queue. Durable on return."""
        ...


class Queue(Protocol):
    """Hands queued events out, in order within a session, sessions side by side."""

    def lease(self, limit: int) -> Lease | None:
        """The next session's run of ready jobs, from its oldest; None when nothing is due."""
        ...

    def settle(self, lease: Lease, memory: Memory) -> None:
        """Keep what was learned and mark the jobs done, in one transaction."""
        ...

    def postpone(self, lease: Lease, until: int, reason: str, *, failed: bool) -> None:
        """Make the jobs ready again, not before `until`; a failed attempt counts, a wait does not."""
        ...

    def park(self, lease: Lease, reason: str) -> None: ...

    def reclaim(self) -> int:
        """Take back every lease: the one holder has just started, so all of them are dead."""
        ...

    def resume(self, job_ids: Sequence[int] | None = None) -> int:
        """Make parked jobs ready again; when none are named, all of them, and those that wait for a better
        moment."""
        ...


class Sessions(Protocol):
    """Answers about sessions."""

    def find(self, session: int | str) -> Session | None:
        """By the database's id (int) or the client's own (str)."""
        ...

    def fail(self, session_id: int) -> None:
        """An abort was asked for: mark it failed; its queued events stay."""
        ...

    def interrupt_silent(self, before: int) -> int:
        """Mark open sessions without activity since `before` as interrupted."""
        ...

    def count_open(self) -> int: ...


class Overview(Protocol):
    """Answers about the whole."""

    def figures(self) -> QueueFigures: ...

    def jobs(self, state: JobState, limit: int, after: int = 0) -> list[tuple[Job, str | None]]:
        """Jobs in a state with the reason they are there, by id."""
        ...

    def counters(self) -> dict[str, int]:
        """What was counted over the store's life: accepted, duplicate, set_aside, …"""
        ...

    def count(self, name: str, by: int = 1) -> None: ...

    def last_event_at(self) -> int | None: ...
