"""What one call of an observer is about."""

from __future__ import annotations

from dataclasses import dataclass

from claude_mem.model.event import Event, Kind


@dataclass(frozen=True, slots=True)
class Batch:
    """A run of one session's events, and what has to be known around them."""

    project: str
    session: str  # the client's own id
    events: tuple[Event, ...]  # in their order
    request: str | None = None  # the user's words these events came of; None: private or unknown
    recorded: tuple[
        str, ...
    ] = ()  # titles already recorded in this session, so that nothing is written twice
    branch: str | None = None
    offline: bool = False  # the user wants no model to be asked about it

    @property
    def wants_summary(self) -> bool:
        """A turn of the main agent ended in it, and not a private one."""
        return any(event.kind is Kind.STOP and not event.private for event in self.events)


@dataclass(frozen=True, slots=True)
class Gathered:
    """What waits in one session, for the policy that decides when it goes out."""

    session_id: int
    events: int
    characters: int
    oldest_at: int  # epoch milliseconds
    newest_at: int
    turn_ended: bool  # a stop or an end is among them
    attempts: int = (
        0  # of the oldest: a batch that failed goes out again when it is due, not when it is large
    )
    due_at: int = 0  # not before
    past: bool = False  # of long ago: what is done now goes before it
    offline: bool = False
