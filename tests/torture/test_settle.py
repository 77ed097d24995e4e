"""Rows 3 and 5: a settle and an accept, killed at every call that changes a file, or failed by the disk.

The child opens the store and says so; strace is attached only then, so that its count begins with the very
first call of what is being tortured, and the child is let go.
"""

from __future__ import annotations

import itertools
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.harness import forked_process
from tests.torture.store_child import NOW, StoreChild, open_store

from claude_mem.model.events import Event, Kind, Origin, ToolCall
from claude_mem.model.jobs import JobState
from claude_mem.model.memory import Findings, Observation
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import NewEvent

pytestmark = [
    pytest.mark.prove,
    pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace to kill at a system call"),
]

CHANGES = ("pwrite64", "fsync", "fdatasync", "ftruncate", "unlink", "unlinkat", "openat")
QUEUED = [f"old{number}" for number in range(4)]
LEASED = QUEUED[:3]
NEW = [f"new{number}" for number in range(3)]


@pytest.fixture
def queued(tmp_path: Path) -> Path:
    """A data directory with a few jobs in the queue, and something remembered that will be seen again."""
    folder = tmp_path / "queued"
    with open_store(folder) as store:
        before = Event("before", NOW, Kind.TOOL_USE, "s0", tool=ToolCall("Read", "in", "out"))
        store.events.accept([NewEvent(before, Origin("key", "name", "/root"))])
        lease = store.queue.lease(1)
        assert lease is not None
        store.queue.settle(lease, Findings((Observation("change", title="known", narrative="k"),)))
        for name in QUEUED:
            event = Event(name, NOW, Kind.TOOL_USE, "s1", tool=ToolCall("Read", "in", "out"))
            store.events.accept([NewEvent(event, Origin("key", "name", "/root"))])
    return folder


@contextmanager
def child(folder: Path, *, inject: str) -> Iterator[StoreChild]:
    """A process that has the store open, with some work leased, and a fault waiting for its system calls."""
    started = StoreChild(folder, len(LEASED), NEW)
    assert started.process.pid
    with forked_process.injected(started.process.pid, inject):
        try:
            yield started
        finally:
            started.kill()


def killed_at_every_call(queued: Path, scratch: Path, act: str) -> Iterator[tuple[Path, bool]]:
    """The data directory after each kill, and whether the act had been acknowledged by then."""
    kills = 0
    for call in CHANGES:
        for number in itertools.count(1):
            folder = scratch / f"{call}-{number}"
            shutil.copytree(queued, folder)
            # `?`: on some processors there is no such call, but another that does the same
            with child(folder, inject=f"?{call}:signal=SIGKILL:when={number}") as tortured:
                tortured.tell(act, "close")
                answers = tortured.remaining_answers()
                ended = tortured.end()
            yield folder, f"acknowledged {act}" in answers
            shutil.rmtree(folder)
            if ended != -signal.SIGKILL:
                assert answers == [f"acknowledged {act}", "acknowledged close"]
                break
            kills += 1
    assert kills > 20, "it was hardly killed at all"


def remembered(folder: Path) -> list[str]:
    with closing(sqlite3.connect(folder / "claude-mem.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        asked = "SELECT title FROM observations WHERE title <> 'known' ORDER BY id"
        return [title for (title,) in db.execute(asked)]


def seen_again_and_paid(folder: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(folder / "claude-mem.db")) as db:
        (sightings,) = db.execute("SELECT COUNT(*) FROM observation_sightings").fetchone()
        (calls,) = db.execute("SELECT COUNT(*) FROM spending").fetchone()
        return sightings, calls


def names(store: SqliteStore, state: JobState) -> list[str]:
    return [job.event.id for job, _reason in store.queue.jobs(state, 100) if job.event.id != "before"]


def test_a_settle_killed_anywhere_leaves_memory_and_settlement_or_neither(
    queued: Path, tmp_path: Path
) -> None:
    befores, afters = 0, 0
    for folder, acknowledged in killed_at_every_call(queued, tmp_path, "settle"):
        with open_store(folder) as store:
            assert store.recovered is None
            store.queue.reclaim()
            done = names(store, JobState.DONE)
            assert remembered(folder) == done
            assert done in ([], LEASED)
            assert done or not acknowledged, "what was acknowledged is there"
            assert seen_again_and_paid(folder) == ((1, 1) if done else (0, 0)), "the rest goes with it"
            session = store.sessions.find("s1")
            assert session is not None
            assert session.title == ("R" if done else None)
            while lease := store.queue.lease(10):
                learned = tuple(Observation("change", title=job.event.id) for job in lease.jobs)
                store.queue.settle(lease, Findings(learned))
            assert remembered(folder) == QUEUED, "each event is remembered once in the end"
            assert store.queue.figures().done == len(QUEUED) + 1
        befores, afters = befores + (not done), afters + bool(done)
    assert befores, "some kills came before the commit"
    assert afters, "and some after"


def test_a_fallback_killed_anywhere_is_parked_with_its_memory_or_neither_and_gives_way_once(
    queued: Path, tmp_path: Path
) -> None:
    befores, afters = 0, 0
    for folder, acknowledged in killed_at_every_call(queued, tmp_path, "fall back"):
        with open_store(folder) as store:
            assert store.recovered is None
            store.queue.reclaim()
            parked = names(store, JobState.PARKED)
            assert remembered(folder) == parked
            assert parked in ([], LEASED)
            assert parked or not acknowledged, "what was acknowledged is there"
            assert seen_again_and_paid(folder) == ((1, 1) if parked else (0, 0)), "the rest goes with it"
            assert store.queue.figures().fallback == len(parked)
            assert store.queue.resume() == len(parked)
            while lease := store.queue.lease(len(LEASED)):
                learned = tuple(Observation("change", title=job.event.id) for job in lease.jobs)
                store.queue.settle(lease, Findings(learned))
            assert sorted(remembered(folder)) == QUEUED, "each event is remembered once in the end"
            assert store.queue.figures().done == len(QUEUED) + 1
        befores, afters = befores + (not parked), afters + bool(parked)
    assert befores, "some kills came before the commit"
    assert afters, "and some after"


def test_an_accept_killed_anywhere_takes_all_of_its_batch_or_none(queued: Path, tmp_path: Path) -> None:
    befores, afters = 0, 0
    for folder, acknowledged in killed_at_every_call(queued, tmp_path, "accept"):
        with open_store(folder) as store:
            assert store.recovered is None
            store.queue.reclaim()
            ready = names(store, JobState.READY)
            assert ready in (QUEUED, QUEUED + NEW)
            taken = len(ready) - len(QUEUED)
            assert taken or not acknowledged, "what was acknowledged is there"
            assert store.queue.counters()["accepted"] == len(ready) + 1
            assert remembered(folder) == []
            events = [Event(name, 0, Kind.TOOL_USE, "s1", tool=ToolCall("Bash")) for name in NEW]
            again = store.events.accept([NewEvent(event, Origin("key", "name", "/root")) for event in events])
            assert (again.fresh, again.duplicate) == (len(NEW) - taken, taken)
            assert names(store, JobState.READY) == QUEUED + NEW
        befores, afters = befores + (not taken), afters + bool(taken)
    assert befores, "some kills came before the commit"
    assert afters, "and some after"


@pytest.mark.parametrize("act", ["accept", "settle"])
def test_nothing_is_acknowledged_while_the_disk_fails_to_sync(queued: Path, act: str) -> None:
    with child(queued, inject="fsync,fdatasync:error=EIO:when=1") as tortured:
        tortured.tell(act)
        assert tortured.answer() == f"StoreUnavailable {act}"
        tortured.tell(act, "close")
        assert tortured.answer() == f"acknowledged {act}", "it works again when the disk does"
        assert tortured.answer() == "acknowledged close"
        assert tortured.end() == 0
    with open_store(queued) as store:
        assert store.recovered is None
        if act == "accept":
            assert names(store, JobState.READY) == [*QUEUED[3:], *NEW]
        else:
            assert remembered(queued) == names(store, JobState.DONE) == LEASED


def test_events_refused_for_an_io_error_are_not_there_afterwards(queued: Path) -> None:
    with child(queued, inject="fsync,fdatasync,pwrite64:error=EIO") as tortured:
        for _ in range(3):
            tortured.tell("accept")
            assert tortured.answer() == "StoreUnavailable accept"
    with open_store(queued) as store:
        store.queue.reclaim()
        assert names(store, JobState.READY) == QUEUED
