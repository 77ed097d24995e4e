"""Memory that travels, on one SQLite file: out as records, and in again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from claude_mem.model.clock import Clock
from claude_mem.model.records import Record
from claude_mem.ports.portable import Absorbed, Chosen
from claude_mem.store.sqlite import absorbing, exporting
from claude_mem.store.sqlite.readers import Readers
from claude_mem.store.sqlite.writer import Writer


class SqlitePortable:
    """Any thread may call it; any call may block. Raises StoreError."""

    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        self._readers, self._writer, self._clock = readers, writer, clock

    def records(self, chosen: Chosen) -> Iterator[Record]:
        with self._readers.read() as db:
            yield from exporting.records(db, chosen, self._clock())

    def absorb(self, records: Sequence[Record], *, own: bool) -> Absorbed:
        return self._writer.run(lambda db: absorbing.absorb(db, records, self._clock(), own=own))
