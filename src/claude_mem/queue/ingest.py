"""Moves spooled events into the store: in order, a batch to a transaction, each once.

A file leaves the spool only after its event is committed, and the store takes the same event twice as once:
a kill between the two loses nothing and doubles nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from claude_mem.model.errors import EventUnreadable
from claude_mem.model.event import Event
from claude_mem.model.origin import Origin
from claude_mem.model.spooled import Spooled
from claude_mem.ports.spool import Spool
from claude_mem.ports.store import Accepted, Arrival, Inbox

BATCH = 256
BATCH_BYTES = 8 << 20  # memory is bounded by what is in the files, not by how many there are
MOST_AT_ONCE = 16 * BATCH  # between two calls the worker can stop

Parse = Callable[[Spooled], Event | None]


def none_is_excluded(event: Event) -> bool:
    del event
    return False


class Counter(Protocol):
    def count(self, name: str, by: int = 1) -> None: ...


class Store(Inbox, Counter, Protocol): ...


class Ingest:
    """The one reader of the spool."""

    def __init__(
        self,
        spool: Spool,
        store: Store,
        parse: Parse,
        origin_of: Callable[[str | None], Origin],
        skip_tools: frozenset[str],
        log: Callable[[str], None],
        is_excluded: Callable[[Event], bool] = none_is_excluded,
    ) -> None:
        self._spool, self._store, self._parse = spool, store, parse
        self._origin_of, self._skip_tools, self._log = origin_of, skip_tools, log
        self._is_excluded = is_excluded

    def drain(self) -> int:
        """Take in the oldest of what is spooled; returns how many files left the spool, 0: it is empty."""
        names = self._spool.names()[:MOST_AT_ONCE]
        batch: list[Spooled] = []
        for name in names:
            file = self._read(name)
            if file is not None:
                batch.append(file)
            if len(batch) >= BATCH or sum(one.size for one in batch) >= BATCH_BYTES:
                self._take(batch)
                batch = []
        self._take(batch)
        return len(names)

    def _read(self, name: str) -> Spooled | None:
        try:
            return self._spool.read(name)
        except EventUnreadable as error:
            self._set_aside(name, error)
        return None

    def _take(self, files: list[Spooled]) -> None:
        taken, arrivals, skipped = [], [], 0
        for file in files:
            try:
                event = self._parse(file)
            except Exception as error:  # whatever it is, one file must not hold up all that come after it
                self._set_aside(file.name, error)
                continue
            taken.append(file)
            if event is not None and self.is_wanted(event):
                arrivals.append(Arrival(event, self._origin_of(event.cwd)))
            else:
                skipped += 1
        if arrivals:
            self._store.accept(arrivals)
        if skipped:
            self._store.count("skipped", skipped)
        if taken:
            self._spool.remove(taken)

    def is_wanted(self, event: Event) -> bool:
        """The user's lists: tools whose uses are not worth remembering, projects of which nothing is."""
        is_skipped = event.tool is not None and event.tool.name in self._skip_tools
        return not is_skipped and not self._is_excluded(event)

    def accept(self, event: Event) -> Accepted:
        """Take in one event that came by another way than the spool."""
        if not self.is_wanted(event):
            return Accepted()
        return self._store.accept([Arrival(event, self._origin_of(event.cwd))])

    def _set_aside(self, name: str, error: Exception) -> None:
        self._log(f"set aside {name}: {type(error).__name__}: {error}")
        self._spool.set_aside(name)
        self._store.count("set_aside")
