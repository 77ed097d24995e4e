"""Queued work and its sessions: jobs, leases, waiting times, spending."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from claude_mem.model.events import Event, Kind


class JobState(StrEnum):
    READY = "ready"  # to be handed out; after a failure not before `not_before`
    LEASED = "leased"
    PARKED = "parked"  # given up for now: visible with its reason, resumed by one command
    DONE = "done"


class Job(Struct, frozen=True):
    """One queued event, in the order of its session."""

    id: int
    event: Event
    prompt_number: int
    attempts: int = 0


class Lease(Struct, frozen=True):
    """A range of one session's jobs, held by one holder until it is settled, postponed or parked."""

    session_id: int
    jobs: tuple[Job, ...]
    number: int = 0  # no two handings out share one: a dead holder cannot pass for the next

    @property
    def attempt(self) -> int:
        """How often this batch has been handed out, this time included."""
        return max(job.attempts for job in self.jobs)


class QueueFigures(Struct, frozen=True):
    """The queue at a glance."""

    ready: int = 0
    leased: int = 0
    parked: int = 0
    done: int = 0
    fallback: int = 0  # of those parked: the offline observer has made memories of their batch
    oldest_ready_at: int | None = None  # epoch milliseconds


class SessionBacklog(Struct, frozen=True):
    """What is waiting in one session; this decides when it is sent."""

    session_id: int
    events: int
    characters: int
    newest_at: int  # epoch milliseconds
    turn_ended: bool  # a stop or an end is among them
    attempts: int = (
        0  # of the oldest: a batch that failed goes out again when it is due, not when it is large
    )
    due_at: int = 0  # not before
    past: bool = False  # of long ago: what is done now goes before it
    offline: bool = False


class CallCost(Struct, frozen=True):
    """The cost of one call: tokens as the provider counted them, and money if known."""

    provider: str
    model: str
    input_tokens: int = 0
    cached_tokens: int = 0  # read from the provider's cache; not part of input_tokens
    output_tokens: int = 0
    cost_usd: float | None = None

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.cached_tokens + self.output_tokens


class SpentSoFar(Struct, frozen=True):
    """What was spent so far: money as far as it is known; days are UTC."""

    daily_tokens: int = 0
    session_tokens: int = 0
    daily_usd: float = 0.0
    session_usd: float = 0.0


class SessionStatus(StrEnum):
    INITIALIZED = "initialized"
    ACTIVE = "active"
    SUMMARIZING = "summarizing"
    COMPLETED = "completed"
    FAILED = "failed"
    INTERRUPTED = "interrupted"


OPEN_STATUSES = (SessionStatus.INITIALIZED, SessionStatus.ACTIVE, SessionStatus.SUMMARIZING)
"""States of a session that may still be running; inactivity ends them (see INTERRUPTED_AFTER_MS)."""

INTERRUPTED_AFTER_MS = 24 * 60 * 60 * 1000
"""A session without events for this long was interrupted: Stop and SessionEnd do not run after a kill."""


def next_status(status: SessionStatus | None, kind: Kind) -> SessionStatus:
    """The state after `kind` arrived in `status` (None: the session is new to us)."""
    match kind:
        case Kind.SESSION_END:
            return SessionStatus.COMPLETED
        case Kind.PROMPT:
            return SessionStatus.ACTIVE
        case Kind.SESSION_START:
            # A resumed session is open again; a duplicate report does not change the state.
            return status if status in OPEN_STATUSES else SessionStatus.INITIALIZED
    if status is SessionStatus.COMPLETED:
        return status  # a late delivery does not reopen what has ended; one that was aborted goes on
    return SessionStatus.SUMMARIZING if kind is Kind.STOP else SessionStatus.ACTIVE


class Session(Struct, frozen=True):
    """A session as stored."""

    id: int  # the database's own id: `sessionDbId` in the API
    claude_session_id: str
    project: str
    status: SessionStatus
    prompt_counter: int
    first_user_prompt: str | None
    created_at_epoch: int
    updated_at_epoch: int
    completed_at_epoch: int | None = None
    client: str = "claude-code"
    cwd: str | None = None
    branch: str | None = None
    title: str | None = None
    subtitle: str | None = None
    pending: int = 0  # events of this session that are not settled yet
