"""How events come in from the spool, whoever asks for it."""

from __future__ import annotations

import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest
from tests.harness import payloads

from claude_mem import agents
from claude_mem.hook import spool_writer
from claude_mem.model.clock import now
from claude_mem.model.errors import StoreUnavailable
from claude_mem.queue.intake import Intake
from claude_mem.settings import Settings
from claude_mem.store.sqlite import SqliteStore

DRAINERS = 8


def test_the_spool_may_be_drained_by_several_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker's loop and somebody who forgets: each file is taken in once, and neither stumbles."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spool").mkdir(mode=0o700)
    with SqliteStore.open(tmp_path / "claude-mem.db", clock=now, backups=tmp_path / "backups") as store:
        intake = Intake(Settings(tmp_path), store)
        for number in range(300):
            spool_writer.put(b"PostToolUse", payloads.bash(f"toolu_{number}"), time.time_ns())
        together = Barrier(DRAINERS)

        def drain() -> int:
            together.wait()
            taken = 0
            while some := intake.drain():
                taken += some
            return taken

        with ThreadPoolExecutor(DRAINERS) as threads:
            drained = [threads.submit(drain) for _ in range(DRAINERS)]
            assert sum(each.result() for each in drained) == 300
        assert store.queue.counters() == {"accepted": 300}


def test_a_session_start_is_recorded_and_its_showing_noted_though_the_store_fails_at_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spool").mkdir(mode=0o700)
    noted: list[str] = []
    failures = [StoreUnavailable("disk full")]

    def on_shown(session: str, stamp: str, at: int) -> None:
        if failures:
            raise failures.pop()
        noted.append(stamp)

    with SqliteStore.open(tmp_path / "claude-mem.db", clock=now, backups=tmp_path / "backups") as store:
        intake = Intake(Settings(tmp_path), store, on_shown=on_shown)
        spool_writer.put(b"SessionStart", payloads.start(), time.time_ns(), context=b"stamp-1")
        with pytest.raises(StoreUnavailable):
            intake.drain()
        assert intake.spool.measure()[0] == 1
        intake.drain()
        assert (noted, intake.spool.measure()[0]) == (["stamp-1"], 0)
        assert store.queue.counters()["accepted"] == 1
        assert "set_aside" not in store.queue.counters()


def test_an_event_is_stored_as_its_agents_and_that_of_an_unknown_agent_is_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spool").mkdir(mode=0o700)
    monkeypatch.setitem(agents.TITLES, "another-code", "Another Code")
    monkeypatch.setitem(agents.FOLDERS, "another-code", "claude_code")
    with SqliteStore.open(tmp_path / "claude-mem.db", clock=now, backups=tmp_path / "backups") as store:
        intake = Intake(Settings(tmp_path), store)
        for agent in ("claude-code", "another-code", "nobody"):
            event = payloads.payload("UserPromptSubmit", session=agent, prompt="hello")
            spool_writer.put(b"UserPromptSubmit", event, time.time_ns(), agent=agent)
        intake.drain()
        assert store.queue.counters() == {"accepted": 2, "set_aside": 1}
    with sqlite3.connect(tmp_path / "claude-mem.db") as db:
        clients = dict(db.execute("SELECT claude_session_id, client FROM sdk_sessions"))
    assert clients == {"claude-code": "claude-code", "another-code": "another-code"}
