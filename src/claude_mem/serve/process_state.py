"""The state that a worker's process and a team server's have in common, and what both do with it."""

from __future__ import annotations

import asyncio
import logging
import resource
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import ClassVar

from msgspec import Struct, field

from claude_mem.serve.worker_log import name_of


class ProcessState(Struct, kw_only=True):
    """Its methods may be called from any thread; its events belong to the event loop."""

    log: ClassVar[logging.Logger]

    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Something may be seen that could not be before. Whoever looks takes it first; it is replaced when it is
    set, so that no news between the look and the wait is missed, however many look."""
    listeners: Counter[int] = field(default_factory=Counter)
    """Callers of /stream, by the keys they have shown; 0: none. Only the event loop touches it."""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)
    trouble: str | None = None
    """Why nothing can be stored at the moment."""
    mishaps: Counter[str] = field(default_factory=Counter)
    """Exceptions from which the worker recovered, by component."""
    started_at: float = field(default_factory=time.monotonic)
    loop: asyncio.AbstractEventLoop | None = None
    thread: int = field(default_factory=threading.get_ident)

    @property
    def uptime_s(self) -> float:
        return time.monotonic() - self.started_at

    def in_loop(self, call: Callable[..., object], *given: object) -> None:
        """Runs it now or, from another thread, soon."""
        if self.loop is None or threading.get_ident() == self.thread:
            call(*given)
        else:
            self.loop.call_soon_threadsafe(call, *given)

    def notify_change(self) -> None:
        self.in_loop(self.replace_event, "changed")

    def replace_event(self, name: str) -> None:
        getattr(self, name).set()
        setattr(self, name, asyncio.Event())

    def record_mishap(self, where: str, error: BaseException) -> None:
        """Counts a failure and logs it without its message, which may quote a memory."""
        self.mishaps[where] += 1
        self.log.error("%s failed: %s", where, name_of(error), exc_info=error)


async def until(event: asyncio.Event, within_s: float) -> bool:
    """Whether it has happened."""
    with suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            await event.wait()
    return event.is_set()


def resident_bytes() -> int:
    """The memory this process uses now (its peak, where the system reports only that)."""
    if sys.platform == "linux":
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 - the kernel's file, on every scrape
            return int(statm.read().split()[1]) * resource.getpagesize()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
