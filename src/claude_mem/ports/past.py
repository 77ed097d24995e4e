"""What taking in the past asks of the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from claude_mem.ports.store import Arrival


@dataclass(frozen=True, slots=True)
class Known:
    """A session that is there already, or must not be."""

    state: Literal["live", "past", "forgotten", "unseen"]
    """live: captured as it happened, or brought along from elsewhere; forgotten: as a whole, by the user;
    unseen: it ran while memory was paused. Only the past may be added to."""
    events: int
    seal: str | None = None  # which state of its transcript was taken in whole


@dataclass(frozen=True, slots=True)
class Manner:
    """How sessions of the past are to be treated."""

    offline: bool = True  # no model is asked
    hold_until: int = 0  # epoch milliseconds: more of them is on its way
    seals: Mapping[str, str] | None = None  # of sessions that are whole now


@dataclass(frozen=True, slots=True)
class Taken:
    fresh: int = 0
    duplicate: int = 0
    live: int = 0  # of sessions that were captured as they happened, or forgotten: left alone


@dataclass(frozen=True, slots=True)
class Progress:
    waiting: int  # events still to be observed
    tokens: int  # that sessions of the past have cost since some time
    usd: float


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

    def known(self, sessions: Sequence[str]) -> dict[str, Known]: ...

    def progress(self, since: int) -> Progress: ...


class Past(Protocol):
    def accept_past(self, arrivals: Sequence[Arrival], manner: Manner) -> Taken:
        """Commit all of them in one transaction. Durable on return."""
        ...

    def release(self, sessions: Sequence[str]) -> None:
        """No more of them is on its way."""
        ...

    def known(self, sessions: Sequence[str]) -> dict[str, Known]: ...

    def progress(self, since: int) -> Progress: ...
