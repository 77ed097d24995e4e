"""The services of a worker, and the state that its HTTP, MCP and hook interfaces share."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import msgspec
from msgspec import Struct, field

from claude_mem.api.system import QueueHistory, QueueSample
from claude_mem.files import write_file
from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreError
from claude_mem.observe.observer import Observer
from claude_mem.providers.registry import Choice, Model
from claude_mem.queue.backfill import Backfill
from claude_mem.queue.intake import Intake
from claude_mem.queue.pump import Pump
from claude_mem.recall.background import BackgroundWork
from claude_mem.recall.cost import CostReport
from claude_mem.recall.deletion import MemoryDeleter
from claude_mem.recall.edit import Corrections, MemoryWriter
from claude_mem.recall.inject import Injector
from claude_mem.recall.memory_reader import MemoryReader
from claude_mem.recall.project_admin import ProjectAdmin
from claude_mem.recall.record_exchange import Exporter, Importer
from claude_mem.serve.http.signin import Visitors
from claude_mem.serve.process_state import ProcessState
from claude_mem.serve.retention import Retention
from claude_mem.settings import Settings
from claude_mem.store.base import Store

if TYPE_CHECKING:
    from claude_mem.team.membership import Membership

SAMPLE_EVERY_MS = 5 * 60 * 1000
MOST_SAMPLES = 24 * 60 * 60 * 1000 // SAMPLE_EVERY_MS
LARGEST_HISTORY = 1 << 20


class QueueSampler(Struct):
    """The last day in steps of five minutes, of each the longest queue seen. Written to a file with each new
    step, so that a restart continues it; steps without a worker are missing."""

    path: Path | None = None
    samples: list[QueueSample] = field(default_factory=list)

    def load(self) -> None:
        """Loads the history; an unreadable file gives an empty one."""
        with suppress(OSError, msgspec.DecodeError):
            if self.path is not None and self.path.stat().st_size <= LARGEST_HISTORY:
                self.samples = msgspec.json.decode(self.path.read_bytes(), type=list[QueueSample])[
                    -MOST_SAMPLES:
                ]

    def add(self, now: int, waiting: int, oldest_age_ms: int) -> None:
        at = now - now % SAMPLE_EVERY_MS
        last = self.samples[-1] if self.samples else None
        if last is not None and last.at == at:
            longest = QueueSample(at, max(last.waiting, waiting), max(last.oldest_age_ms, oldest_age_ms))
            self.samples = [*self.samples[:-1], longest]
            return
        # The clock was set back, so drop entries that are in the future.
        earlier = [each for each in self.samples if now - MOST_SAMPLES * SAMPLE_EVERY_MS < each.at < at]
        self.samples = [*earlier, QueueSample(at, waiting, oldest_age_ms)][-MOST_SAMPLES:]
        if self.path is not None:
            with suppress(OSError):  # a full disk: it is only a plot
                write_file(self.path, msgspec.json.encode(self.samples))

    def as_answer(self) -> QueueHistory:
        found = self.samples
        return QueueHistory(every_ms=SAMPLE_EVERY_MS, since=found[0].at if found else None, samples=found)


log = logging.getLogger("claude_mem.serve")

PROTOCOL = 1
"""The version of the protocol over sockets and HTTP; raised when an old client would break."""

BACKLOG = 1024
"""Connections that may wait on a listening socket."""
MOST_ANNOUNCEMENTS = 1_000


class Recall(Struct, frozen=True, kw_only=True):
    """The services that read and change memory."""

    memory: MemoryReader
    writer: MemoryWriter
    corrections: Corrections
    deleter: MemoryDeleter
    exporter: Exporter
    importer: Importer
    injector: Injector
    costs: CostReport
    projects: ProjectAdmin
    retention: Retention
    background: BackgroundWork


class Observing(Struct, frozen=True):
    """The services that turn recorded events into memories."""

    pump: Pump
    observer: Observer
    choice: Choice
    model: Model | None
    store: Store
    clock: Clock

    def state(self) -> dict[str, object]:
        """Which observer is used and why, and what is blocking it."""
        return {
            "provider": self.choice.provider,
            "why": self.choice.why,
            "paused": self.pump.paused,
            "spentUp": self.observer.budget_message,
            "spentToday": self._spent_today(),
        }

    def _spent_today(self) -> dict[str, object] | None:
        """What was spent today; None: it cannot be read now."""
        with suppress(StoreError, OSError):
            spent = self.store.queue.spent(0, self.clock())
            return {"tokens": spent.daily_tokens, "usd": spent.daily_usd}
        return None

    def resume(self, job_ids: Sequence[int] | None) -> int:
        """Makes parked jobs ready again (None: all of them) and ends a pause; returns how many there were."""
        resumed = self.store.queue.resume(job_ids)
        self.pump.release()  # after: whoever steps next must find what was resumed
        return resumed

    def interrupt(self) -> None:
        """Ends running calls; their batches return to the queue."""
        if self.model is not None:
            self.model.close()


class Services(Struct, frozen=True, kw_only=True):
    """The services of a worker. They may block, so the worker calls them from threads."""

    settings: Settings
    version: str
    clock: Clock
    store: Store
    recall: Recall
    intake: Intake
    past_intake: Backfill
    observing: Observing
    maintenance: Mapping[str, Callable[[], object]]
    """Hourly: backup, interrupted sessions, clean-up. Steps by their names, in this order."""
    close: Callable[[], None]
    """Called after everything else has ended."""
    interrupt: Callable[[], None]
    """Ends calls to models and to the team's server that are under way."""
    check_settings: Callable[[Settings], object]
    """Checks whether a worker would start with these settings. Raises SettingsError."""
    follow: Callable[[], bool] | None = None
    """Imports what is new in watched transcripts; returns whether there was anything. None: none is
    watched."""
    listen: Callable[[float], Collection[str]] | None = None
    """Waits some seconds for what other processes add to the store, and says what it was. None: there are no
    others."""
    membership: Callable[[], Membership] | None = None
    """The membership in a team. None: the store has no outbox, because several machines use it."""
    is_connected: Callable[[], bool] = lambda: True
    """Whether a coding agent's settings contain our hooks, as far as the worker can tell. Queried often."""


class Announcement(Struct, frozen=True):
    number: int
    what: str  # edit, pin, wrong, merge, undo, forget, all, settings, recording
    refs: tuple[str, ...]


class Running(ProcessState):
    """The state of a running worker."""

    log: ClassVar[logging.Logger] = log

    services: Services
    port: int | None = None  # None: the loopback could not be had; the sockets serve alone
    pid: int = field(default_factory=os.getpid)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    queued: asyncio.Event = field(default_factory=asyncio.Event)
    """An event was queued, so a batch may be due. Replaced when it is set, like `changed`."""
    announcements: deque[Announcement] = field(default_factory=lambda: deque(maxlen=MOST_ANNOUNCEMENTS))
    """What people have recently changed in memory, by a number that only grows. Only the event loop
    touches it: iterating in a thread while the loop appends fails."""
    visitors: Visitors = field(default_factory=Visitors)
    """Browsers that have signed in."""
    handing_over_to: str | None = None
    events_seen: bool = False
    """Events arrived since it started, including spooled ones: an agent is, or was, connected."""
    recording: object = None
    """The state of recording at the last check; None: it was not checked yet."""
    queue_history: QueueSampler = field(default_factory=QueueSampler)
    hung_queries: Callable[[], int] = lambda: 0
    """How many recall queries of hooks are still running although their callers have timed out."""

    @property
    def last_announcement(self) -> int:
        return self.announcements[-1].number if self.announcements else 0

    def stop(self) -> None:
        self.in_loop(self.stopping.set)
        self.in_loop(self.wake.set)  # the loops look up, and see that it is over
        self.notify_queued()

    def notify_queued(self) -> None:
        self.in_loop(self.replace_event, "queued")
        self.notify_change()

    def announce(self, what: str, refs: Sequence[str]) -> None:
        self.in_loop(self._announce, what, tuple(refs))

    def _announce(self, what: str, refs: tuple[str, ...]) -> None:
        self.announcements.append(Announcement(self.last_announcement + 1, what, refs))
        self.replace_event("changed")
