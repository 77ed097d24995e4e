"""Stores on a PostgreSQL database, as several processes have them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from tests.contracts.store_contract import SettableClock
from tests.harness.postgres import VERSIONS, new_database

from claude_mem.store.postgres import PostgresStore


@pytest.fixture(params=VERSIONS)
def url(request: pytest.FixtureRequest) -> str:
    return new_database(request.param)


@pytest.fixture
def open_store(url: str) -> Iterator[Callable[[], PostgresStore]]:
    """Another process's, as far as the database can see."""
    with ExitStack() as stack:
        yield lambda: stack.enter_context(PostgresStore.open(url, clock=SettableClock()))


@pytest.fixture
def store(open_store: Callable[[], PostgresStore]) -> PostgresStore:
    return open_store()
