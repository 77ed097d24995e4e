"""What the faces of a running worker share."""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from claude_mem.serve.parts import Parts
from claude_mem.serve.visitors import Visitors

log = logging.getLogger("claude_mem.serve")

PROTOCOL = 1
"""The version of what is said over the sockets and HTTP; raised when an old client would break."""


MOST_CORRECTIONS = 1_000


@dataclass(frozen=True, slots=True)
class Correction:
    number: int
    what: str  # edit, pin, wrong, merge, undo, forget, all, settings, recording
    refs: tuple[str, ...]


@dataclass(slots=True)
class Running:
    parts: Parts
    port: int | None = None  # None: the loopback could not be had; the sockets serve alone
    pid: int = field(default_factory=os.getpid)
    born: float = field(default_factory=time.monotonic)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    news: asyncio.Event = field(default_factory=asyncio.Event)
    """Something was queued: it may be due. Whoever looks takes it first; it is replaced when it is set, so
    that no news between the look and the wait is missed, however many look."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Something may be seen that could not be before. Taken and replaced as `news` is."""
    listeners: int = 0
    """Callers of /stream."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    corrections: deque[Correction] = field(default_factory=lambda: deque(maxlen=MOST_CORRECTIONS))
    """What people have lately changed in memory, by a number that only grows. Only the event loop
    touches it: iterating in a thread while the loop appends fails."""
    visitors: Visitors = field(default_factory=Visitors)
    """Browsers that have signed in."""
    handing_over_to: str | None = None
    trouble: str | None = None  # why nothing can be taken in just now, as one sentence
    heard: bool = False
    """Events came in since it runs, also such as had waited for it: somebody is, or was, connected."""
    recording: object = None
    """How recording stood when it was last looked at; None: nobody has."""
    mishaps: Counter[str] = field(default_factory=Counter)
    """What a loop of ours swallowed so as to go on, by the loop's name."""
    hung_asks: Callable[[], int] = lambda: 0
    """How many questions of recall hooks have not returned though their askers have left."""

    @property
    def uptime_s(self) -> float:
        return time.monotonic() - self.born

    @property
    def last_correction(self) -> int:
        return self.corrections[-1].number if self.corrections else 0

    def stop(self) -> None:
        self.stopping.set()
        self.wake.set()  # the loops look up, and see that it is over
        self.tell_news()

    def tell_news(self) -> None:
        self.news.set()
        self.news = asyncio.Event()
        self.tell_change()

    def tell_change(self) -> None:
        self.changed.set()
        self.changed = asyncio.Event()

    def tell_correction(self, what: str, refs: Sequence[str]) -> None:
        self.corrections.append(Correction(self.last_correction + 1, what, tuple(refs)))
        self.tell_change()

    def swallow(self, where: str, error: BaseException) -> None:
        """The worker's loops outlive any one failure; each is counted, and shown by /health and /metrics."""
        self.mishaps[where] += 1
        log.error("%s failed", where, exc_info=error)


def resident_bytes() -> int:
    """The memory this process occupies now (its peak, where the system tells no more)."""
    if sys.platform == "linux":
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 - the kernel's file, on every scrape
            return int(statm.read().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
