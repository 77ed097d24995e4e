"""What the store's tests share: a data directory, a clock that stands still, a way to open and to peek."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store_contract import Events, SettableClock

from claude_mem.store.sqlite import SqliteStore


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock()


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "data" / "claude-mem.db"


@pytest.fixture
def backups(database: Path) -> Path:
    return database.parent / "backups"


@pytest.fixture
def open_store(database: Path, backups: Path, clock: SettableClock) -> Callable[[], SqliteStore]:
    return lambda: SqliteStore.open(database, clock=clock, backups=backups)


@pytest.fixture
def peek(database: Path) -> Callable[[str], list[tuple[Any, ...]]]:
    """Ask the database file itself, as a person with sqlite3 would."""

    def ask(sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)) as db:
            return db.execute(sql).fetchall()

    return ask
