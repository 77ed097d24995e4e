"""Moves spooled events into the store: in order, a batch to a transaction, each once.

A file leaves the spool only after its event is committed, and the store takes the same event twice as once:
a kill between the two loses nothing and doubles nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from claude_mem.model.errors import EventUnreadable, StoreDamaged, StoreUnavailable
from claude_mem.model.events import Event, Origin, SpooledEvent
from claude_mem.queue.spool_reader import Spool
from claude_mem.store import Store
from claude_mem.store.values import Accepted, Arrival

BATCH = 256
BATCH_BYTES = 8 << 20  # memory is bounded by what is in the files, not by how many there are
MOST_AT_ONCE = 16 * BATCH  # between two calls the worker can stop

Parse = Callable[[SpooledEvent], Event | None]

_STORE_TROUBLE = (StoreUnavailable, StoreDamaged)
"""Not the event's fault: it stays in the spool and is tried again."""


def none_is_excluded(event: Event) -> bool:
    del event
    return False


def nothing_to_note(file: SpooledEvent) -> None:
    del file


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
        on_committed: Callable[[SpooledEvent], None] = nothing_to_note,
    ) -> None:
        """`on_committed` hears of every file before it leaves the spool; after a failure it may hear of one
        again."""
        self._spool, self._store, self._parse = spool, store, parse
        self._origin_of, self._skip_tools, self._log = origin_of, skip_tools, log
        self._is_excluded, self._on_committed = is_excluded, on_committed

    def drain(self) -> int:
        """Take in the oldest of what is spooled; returns how many files left the spool, 0: it is empty, or
        holds only bad files that cannot be moved."""
        batch: list[SpooledEvent] = []
        gone = 0
        for name in self._spool.names()[:MOST_AT_ONCE]:
            try:
                batch.append(self._spool.read(name))
            except FileNotFoundError:
                continue
            except EventUnreadable as error:
                gone += self._set_aside(name, error)
            if len(batch) >= BATCH or sum(one.size for one in batch) >= BATCH_BYTES:
                gone += self._take(batch)
                batch = []
        return gone + self._take(batch)

    def _take(self, files: list[SpooledEvent]) -> int:
        """Returns how many left the spool. Whatever is wrong with one event, those behind it are taken in."""
        gone, taken, arriving = 0, [], []
        for file in files:
            try:
                arrival = self._arrival(file)
            except _STORE_TROUBLE:
                raise
            except Exception as error:
                gone += self._set_aside(file.name, error)
                continue
            taken.append(file)
            if arrival is not None:
                arriving.append((file, arrival))
        skipped = len(taken) - len(arriving)
        for refused, why in self._refused(arriving):
            taken.remove(refused)
            gone += self._set_aside(refused.name, why)
        if skipped:
            self._store.queue.count("skipped", skipped)
        for file in taken:
            self._note(file)
        if taken:
            self._spool.remove(taken)
        return gone + len(taken)

    def _arrival(self, file: SpooledEvent) -> Arrival | None:
        """None: the user does not want it, or it says nothing."""
        event = self._parse(file)
        if event is None or not self.is_wanted(event):
            return None
        return Arrival(event, self._origin_of(event.cwd))

    def _refused(
        self, arriving: Sequence[tuple[SpooledEvent, Arrival]]
    ) -> list[tuple[SpooledEvent, Exception]]:
        """Accept them together; if the store refuses that, one by one. Returns those it refuses alone."""
        if not arriving:
            return []
        try:
            self._store.inbox.accept([arrival for _, arrival in arriving])
        except _STORE_TROUBLE:
            raise
        except Exception as error:
            if len(arriving) == 1:
                return [(arriving[0][0], error)]
            return [refused for one in arriving for refused in self._refused([one])]
        return []

    def _note(self, file: SpooledEvent) -> None:
        try:
            self._on_committed(file)
        except _STORE_TROUBLE:
            raise
        except Exception as error:  # the event itself is safe
            self._log(f"not noted of {file.name}: {type(error).__name__}: {error}")

    def is_wanted(self, event: Event) -> bool:
        """The user's lists: tools whose uses are not worth remembering, projects of which nothing is."""
        is_skipped = event.tool is not None and event.tool.name in self._skip_tools
        return not is_skipped and not self._is_excluded(event)

    def accept(self, event: Event) -> Accepted:
        """Take in one event that came by another way than the spool."""
        if not self.is_wanted(event):
            return Accepted()
        return self._store.inbox.accept([Arrival(event, self._origin_of(event.cwd))])

    def _set_aside(self, name: str, error: Exception) -> int:
        """Returns how many files left the spool: none if it cannot be moved, which is tried again."""
        self._log(f"set aside {name}: {type(error).__name__}: {error}")
        try:
            self._spool.set_aside(name)
        except OSError as trouble:
            self._log(f"cannot be set aside: {name}: {trouble}")
            return 0
        self._store.queue.count("set_aside")
        return 1
