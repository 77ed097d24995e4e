"""Counts what sessions were told, by occasion. Asked often, it counts on from where it last ended."""

from __future__ import annotations

import sqlite3
from collections import Counter
from threading import Lock

from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.readers import Readers


class Told:
    """Any thread may call it. Counts only grow: what is forgotten is left out from the next start on."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._lock = Lock()
        self._upto = 0
        self._times: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()

    def figures(self) -> dict[str, dict[str, int]]:
        """By the hook's event: how often, and how many tokens. Raises StoreError."""
        with self._lock:
            with self._readers.read() as db:
                self._count_on(execute(db, "injections_after", after=self._upto).fetchall())
            return {
                event: {"times": times, "tokens": self._tokens[event]}
                for event, times in sorted(self._times.items())
            }

    def _count_on(self, rows: list[sqlite3.Row]) -> None:
        for row in rows:
            self._times[row["event"]] += row["times"]
            self._tokens[row["event"]] += row["tokens"]
            self._upto = max(self._upto, row["upto"])
