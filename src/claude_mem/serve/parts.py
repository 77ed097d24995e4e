"""What the worker is made of: the composition root fills it, the worker only calls it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from claude_mem.model.clock import Clock
from claude_mem.ports.correcting import Correcting
from claude_mem.ports.desk import Desk
from claude_mem.ports.house import House
from claude_mem.ports.past import Listener
from claude_mem.ports.store import Accepted, Inbox, Overview, Sessions
from claude_mem.ports.viewing import Viewing
from claude_mem.settings import Settings


class Store(Inbox, Sessions, Overview, Protocol):
    """As much of the store as the worker's faces need. Its methods block, and any thread may call them."""


def no_answer(question: dict[str, object]) -> str:
    """A worker that only captures knows nothing."""
    del question
    return ""


def never_private(prompt: str) -> bool:
    del prompt
    return False


def nothing_to_do() -> None:
    """A worker without an observer only captures, and waits for nobody."""


def nobody_at_work(session_id: int) -> bool:
    del session_id
    return True


def nobody_observes() -> dict[str, object]:
    return {}


def nothing_is_new() -> bool:
    return False


def nobody_can_tell() -> bool:
    return True


def none_is_parked(job_ids: Sequence[int] | None) -> int:
    del job_ids
    return 0


@dataclass(frozen=True, slots=True)
class Parts:
    """Every callable here blocks, unless it says otherwise; the worker calls them from threads of its own."""

    settings: Settings
    version: str
    clock: Clock
    store: Store
    receive: Callable[[str, dict[str, object]], Accepted]
    """(hook event name, payload in the client's field names): scrubs, parses, commits.
    Raises EventUnreadable, StoreUnavailable."""
    drain: Callable[[], int]
    """Moves spooled events into the store; returns how many. Called again until it returns 0."""
    spooled: Callable[[], tuple[int, int]]
    """Files and bytes waiting in the spool."""
    drops: Callable[[], dict[str, int]]
    """What could not be kept, by reason."""
    maintain: Mapping[str, Callable[[], object]]
    """Hourly upkeep: backup, interrupted sessions, clean-up. Steps by their names, in this order."""
    close: Callable[[], None]
    """After everything else has ended."""
    ask: Callable[[dict[str, object]], str] = no_answer
    """A recall hook's question; the context to show, or nothing."""
    is_private: Callable[[str], bool] = never_private
    """Whether nothing of this prompt may be kept."""
    pump: Callable[[], int | None] = nothing_to_do
    """Observes one batch, if one is due; epoch milliseconds to look again, None: when something arrives."""
    abort: Callable[[int], bool] = nobody_at_work
    """Asks for a session's running work to be let go of; True once nobody works on it. Does not block: the
    worker asks again until the user's time for it is over."""
    observing: Callable[[], dict[str, object]] = nobody_observes
    """Who observes and why, and what holds it up."""
    resume: Callable[[Sequence[int] | None], int] = none_is_parked
    """Makes parked jobs ready again (None: all of them) and ends a pause; returns how many were parked."""
    let_go: Callable[[], None] = nothing_to_do
    """The worker begins to stop: ends what would keep it waiting, as a model's answer does."""
    keep_ready: Callable[[], bool] = nothing_is_new
    """Does some of what makes memory quick to find and ready to tell; False: all of it is done."""
    is_connected: Callable[[], bool] = nobody_can_tell
    """Whether the coding agent's settings know of us, as far as can be seen from here. Asked often."""
    recalling: Callable[[], dict[str, object]] = nobody_observes
    """How far the indexes and the rendered contexts are, and what sessions were told; {}: nobody recalls."""
    desk: Desk | None = None
    """Answers about memory; None: a worker that only captures."""
    correcting: Correcting | None = None
    """Changes memory because a person says so, and takes it back."""
    viewing: Viewing | None = None
    """Answers what only the viewer asks."""
    check_settings: Callable[[Settings], object] = str
    """Whether a worker would start with them. Raises SettingsError."""
    fence: Callable[[str], str] = str
    """Marks what memory says as a quotation, for a model to read. Does not block."""
    past: Listener | None = None
    """Takes in what happened before anybody listened; None: nobody does."""
    house: House | None = None
    """Keeps house; None: a worker that only captures."""
    follow: Callable[[], bool] | None = None
    """Takes in what is new in transcripts that grow; whether there was any. None: none is watched."""
    drop: Callable[[Sequence[int]], int] = none_is_parked
    """Parked jobs are done with, unobserved; returns how many were parked."""
