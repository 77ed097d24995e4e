"""What came of asking an observer about a batch."""

from __future__ import annotations

from dataclasses import dataclass

from claude_mem.model.observation import Memory


@dataclass(frozen=True, slots=True)
class Observed:
    memory: Memory


@dataclass(frozen=True, slots=True)
class Nothing:
    """An explicit 'nothing worth keeping'."""


@dataclass(frozen=True, slots=True)
class Throttled:
    """The provider asked us to wait; that is not a failed attempt."""

    until: int  # epoch milliseconds


@dataclass(frozen=True, slots=True)
class Broken:
    """The provider could not be asked, or answered with an error."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The provider answered, but not in our grammar. Kept, never confirmed."""

    reason: str


Outcome = Observed | Nothing | Throttled | Broken | Unreadable
