"""When a session's events are sent as a batch, and what happens to the batch after an attempt. Pure: a day of
retries is tested in microseconds.

Every call includes the instructions, so events are batched: a turn, or as much of it as fits into a prompt,
never a single tool use.
"""

from __future__ import annotations

from typing import assert_never

from msgspec import Struct

from claude_mem.model.jobs import SessionBacklog
from claude_mem.model.memory import Broken, Nothing, Observed, Outcome, Paused, Throttled, Unreadable

ENOUGH_CHARACTERS = 400_000  # a prompt has room for about a quarter of it
ENOUGH_EVENTS = 150
IDLE_MS = 10 * 60 * 1000  # longer than a long test run, so that its turn is not split

MOST_ATTEMPTS = 3
FIRST_BACKOFF_MS = 5_000
LONGEST_WAIT_MS = 24 * 60 * 60 * 1000
LOOK_AGAIN_MS = 5 * 60 * 1000  # the longest wait before a failed provider is tried again


def due_at(backlog: SessionBacklog, now: int) -> int:
    """When the batch is sent: `now`, or a time to look again, unless something arrives before that."""
    # No wait is longer than a day: a later time comes from a clock that has been set back.
    if now < backlog.due_at <= now + LONGEST_WAIT_MS:
        return backlog.due_at
    if backlog.attempts > 0 or backlog.turn_ended:
        return now
    if backlog.characters >= ENOUGH_CHARACTERS or backlog.events >= ENOUGH_EVENTS:
        return now
    # Likewise for an event from the future.
    return now if backlog.newest_at > now + IDLE_MS else max(now, backlog.newest_at + IDLE_MS)


class Settle(Struct, frozen=True):
    """Store the findings; the batch is done."""


class Wait(Struct, frozen=True):
    """Try again later; this does not count as a failed attempt."""

    until: int


class Retry(Struct, frozen=True):
    until: int
    reason: str


class Park(Struct, frozen=True):
    reason: str


class Fallback(Struct, frozen=True):
    """Park the batch, with the offline observer's findings until it is retried."""

    reason: str


Decision = Settle | Wait | Retry | Park | Fallback


def backoff(attempt: int, jitter: float = 0.0) -> int:
    """Milliseconds after the given failed attempt: 5 s, 25 s, …, and up to half as much again by chance, so
    that those who failed together do not come back together. `jitter` is from 0 to 1."""
    factor = 5 ** min(attempt - 1, 9)  # bounded: days of failures would overflow a float
    return min(int(FIRST_BACKOFF_MS * factor * (1 + jitter / 2)), LONGEST_WAIT_MS)


def decide(outcome: Outcome, attempt: int, now: int, jitter: float = 0.0, *, failures: int = 1) -> Decision:
    """`attempt` is the batch's; `failures`, how often in a row the provider has failed it."""
    match outcome:
        case Observed() | Nothing():
            return Settle()
        case Throttled(until=until):
            return Wait(min(max(until, now), now + LONGEST_WAIT_MS))
        case Paused():
            return Wait(now)  # the pump's own hold decides when to try again
        case Broken(at_fault="provider"):
            return Wait(now + min(backoff(failures, jitter), LOOK_AGAIN_MS))
        case Broken(reason=reason) | Unreadable(reason=reason) if attempt < MOST_ATTEMPTS:
            return Retry(now + backoff(attempt, jitter), reason)
        case Broken(reason=reason) | Unreadable(reason=reason):
            return Fallback(reason) if isinstance(outcome, Unreadable) else Park(reason)
        case _:
            assert_never(outcome)
