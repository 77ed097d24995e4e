"""Queued work: an event waiting to become memory."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from claude_mem.model.event import Event


class State(StrEnum):
    READY = "ready"  # to be handed out; after a failure not before `not_before`
    LEASED = "leased"
    PARKED = "parked"  # given up for now: visible with its reason, resumed by one command
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Job:
    """One queued event, in the order of its session."""

    id: int
    event: Event
    prompt_number: int
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class Lease:
    """A run of one session's jobs, held by one holder until it is settled, postponed or parked."""

    session_id: int
    jobs: tuple[Job, ...]
    number: int = 0  # no two handings out share one: a dead holder cannot pass for the next

    @property
    def attempt(self) -> int:
        """How often this batch has been handed out, this time included."""
        return max(job.attempts for job in self.jobs)


@dataclass(frozen=True, slots=True)
class Figures:
    """The queue at a glance."""

    ready: int = 0
    leased: int = 0
    parked: int = 0
    done: int = 0
    oldest_ready_at: int | None = None  # epoch milliseconds
