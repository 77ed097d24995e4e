"""A store that takes records in, and all it holds afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from claude_mem.model.records import Record
from claude_mem.store.relational.transfer import Transfer
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import ExportSelection, ImportResult

NOW = 1_800_000_000_000


class Memory:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def take(self, records: Iterable[Record], *, own: bool = True) -> ImportResult:
        with self._open() as portable:
            return portable.absorb(list(records), own=own)

    def holds(self, kind: str) -> list[dict[str, Any]]:
        return [record for record in self.everything() if record["kind"] == kind]

    def everything(self) -> list[dict[str, Any]]:
        with self._open() as portable:
            return [dict(record) for record in portable.records(ExportSelection()) if "version" not in record]

    @contextmanager
    def _open(self) -> Iterator[Transfer]:
        place, backups = self._folder / "ours" / "claude-mem.db", self._folder / "ours" / "backups"
        place.parent.mkdir(exist_ok=True)
        with SqliteStore.open(place, clock=lambda: NOW, backups=backups) as store:
            yield Transfer(store.readers, store.writer, lambda: NOW)
