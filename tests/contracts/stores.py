"""The stores that every contract suite runs on. Another one adds a row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from claude_mem.model.clock import Clock
from claude_mem.store.base import Store
from claude_mem.store.sqlite import SqliteStore


def _sqlite(folder: Path, clock: Clock) -> Store:
    return SqliteStore.open(folder / "claude-mem.db", clock=clock, backups=folder / "backups")


def _postgres(_folder: Path, clock: Clock) -> Store:
    from tests.harness.postgres import new_database  # late: SQLite's tests do without psycopg

    from claude_mem.store.postgres import PostgresStore

    return PostgresStore.open(new_database(), clock=clock)


STORES: dict[str, Callable[[Path, Clock], Store]] = {"sqlite": _sqlite, "postgres": _postgres}
"""How each is opened for a test, empty, given a folder of its own."""

MARKS = {"postgres": pytest.mark.prove}
"""`make test` runs them on SQLite, and one session on each of the others (tests/e2e)."""
