"""A pump on a real store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store_contract import NOON, Events, SettableClock
from tests.harness import hook_process
from tests.unit.queue.pump_setup import SECOND, Make, fall_back

from claude_mem import settings
from claude_mem.queue.pump import Pump
from claude_mem.serve.services import Services
from claude_mem.store.sqlite import SqliteStore
from claude_mem.wiring import worker_services


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON + SECOND)


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def store(tmp_path: Path, clock: SettableClock) -> Iterator[SqliteStore]:
    with SqliteStore.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
        yield store


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def make(store: SqliteStore, clock: SettableClock, told: list[str]) -> Make:
    return lambda observe: Pump(store.queue, observe, fall_back, clock, told.append, jitter=lambda: 0.0)


@pytest.fixture
def parts(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    """The worker's parts, in its working directory."""
    data.mkdir(mode=0o700)
    (data / "spool").mkdir(mode=0o700)
    monkeypatch.chdir(data)
    with hook_process.listening(data):
        built = worker_services.build(settings.load(hook_process.environment(data)))
        yield built
        built.close()
