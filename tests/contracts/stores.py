"""The stores that every contract suite runs on. Another one adds a row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from claude_mem.model.clock import Clock
from claude_mem.store.base import Store
from claude_mem.store.sqlite import SqliteStore


def _sqlite(folder: Path, clock: Clock) -> Store:
    return SqliteStore.open(folder / "claude-mem.db", clock=clock, backups=folder / "backups")


STORES: dict[str, Callable[[Path, Clock], Store]] = {"sqlite": _sqlite}
"""How each is opened for a test, empty, given a folder of its own."""
