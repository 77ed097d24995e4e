"""The stores that every contract suite runs on. Another one adds a row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.harness.postgres import NEEDS_OLDEST, Version, new_database

from claude_mem.model.clock import Clock
from claude_mem.store.base import Store
from claude_mem.store.postgres import PostgresStore
from claude_mem.store.sqlite import SqliteStore


def _sqlite(folder: Path, clock: Clock) -> Store:
    return SqliteStore.open(folder / "claude-mem.db", clock=clock, backups=folder / "backups")


def _postgres(version: Version) -> Callable[[Path, Clock], Store]:
    def opened(_folder: Path, clock: Clock) -> Store:
        return PostgresStore.open(new_database(version), clock=clock)

    return opened


STORES: dict[str, Callable[[Path, Clock], Store]] = {
    "sqlite": _sqlite,
    "postgres": _postgres("newest"),
    "postgres-oldest": _postgres("oldest"),
}
"""How each is opened for a test, empty, given a folder of its own."""

MARKS = {"postgres": (pytest.mark.prove,), "postgres-oldest": (pytest.mark.prove, NEEDS_OLDEST)}
"""`make test` runs them on SQLite, and one session on the newest PostgreSQL (tests/e2e)."""
