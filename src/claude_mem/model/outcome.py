"""What came of asking an observer about a batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from claude_mem.model.observation import Memory
from claude_mem.model.prompt import Spend


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
    whose: Literal["batch", "provider"] = "batch"  # the provider's fails for every batch, and counts for none
    spend: Spend | None = None  # what it cost all the same


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The provider answered, but not in our grammar. Kept, never confirmed."""

    reason: str


@dataclass(frozen=True, slots=True)
class Paused:
    """Asking again is useless until somebody changes something: a login, a key, a model's name. The batch is
    kept and no attempt is counted; the user is told once."""

    reason: str  # one plain sentence that says what to do


Failure = Throttled | Broken | Paused
"""Why there is no reply, by facts of the transport (status, error type), never by its wording."""

Outcome = Observed | Nothing | Unreadable | Failure
