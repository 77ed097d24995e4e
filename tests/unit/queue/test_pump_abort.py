"""An abort lets go of a session's work, and threads never hold one session together."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.contracts.store_contract import Events, SettableClock, new_events
from tests.unit.queue.pump_setup import (
    DEADLINE_S,
    SPEND,
    Answer,
    Make,
    Script,
    a_turn,
    fall_back,
    pump_dry,
    waiting,
)

from claude_mem.model.jobs import Lease, QueueFigures
from claude_mem.model.memory import (
    Batch,
    Findings,
    Nothing,
    Observation,
    Observed,
    Outcome,
)
from claude_mem.queue.pump import Pump
from claude_mem.store.relational.queue import Queue
from claude_mem.store.sqlite import SqliteStore


class Blocking:
    """An observer that is busy until it is told to answer."""

    def __init__(self, answer: Outcome) -> None:
        self.answer = answer
        self.begun = threading.Event()
        self.may_end = threading.Event()

    def __call__(self, batch: Batch, session_id: int) -> Answer:
        self.begun.set()
        assert self.may_end.wait(DEADLINE_S)
        return self.answer, SPEND


def test_an_abort_lets_go_within_its_time_and_keeps_the_events(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Blocking(Observed(Findings((Observation("change", title="too late"),))))
    pump = make(observer)
    ids = a_turn(store, events)
    session = store.sessions.find("s1")
    assert session is not None
    with ThreadPoolExecutor(2) as pool:
        stepping = pool.submit(pump.step)
        assert observer.begun.wait(DEADLINE_S)
        store.sessions.fail(session.id)
        assert not pump.abort(session.id, 0.0), "the observer has not let go yet, and nobody waited for it"
        aborting = pool.submit(pump.abort, session.id, DEADLINE_S)
        observer.may_end.set()
        assert aborting.result(DEADLINE_S)
        stepping.result(DEADLINE_S)
    assert waiting(store) == [(id, 0, "aborted") for id in ids]
    assert store.queue.spent(session.id, clock.now).session_usd == 0.25, "what was asked was paid for"
    assert pump.step() is None, "an aborted session's events are not handed out"
    store.events.accept(new_events(events.prompt("back")))
    script = Script()
    pump_dry(make(script), clock)
    assert [event.id for event in script.shown[0].events] == ids


def test_an_abort_of_a_session_nobody_works_on_is_done_at_once(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script()
    pump = make(observer)
    a_turn(store, events)
    session = store.sessions.find("s1")
    assert session is not None
    assert pump.abort(session.id, 0.0)
    pump_dry(pump, clock)
    assert len(observer.shown) == 1, "it was no standing order"


def test_an_abort_does_not_miss_whoever_is_about_to_begin(
    tmp_path: Path, events: Events, clock: SettableClock, told: list[str]
) -> None:
    class AbortedWhileItLeases(Queue):
        def lease(self, limit: int, session_id: int | None = None) -> Lease | None:
            assert session_id is not None
            lease = super().lease(limit, session_id)
            assert not pump.abort(session_id, 0.0)
            return lease

    observer = Script()
    with SqliteStore.open(tmp_path / "m.db", clock=clock, backups=tmp_path / "b") as store:
        pump = Pump(
            AbortedWhileItLeases(store.readers, store.writer, clock),
            observer,
            fall_back,
            clock,
            told.append,
            jitter=lambda: 0.0,
        )
        a_turn(store, events)
        pump.step()
        assert observer.shown == [], "nobody was asked for nothing"
        assert store.queue.figures().ready == 4


def test_threads_share_the_sessions_and_never_hold_one_together(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    lock = threading.Lock()
    at_work: list[int] = []
    seen: dict[str, list[str]] = {}
    most = 0
    together = threading.Barrier(4)

    def observe(batch: Batch, session_id: int) -> Answer:
        nonlocal most
        with lock:
            assert session_id not in at_work, "two hold one session"
            at_work.append(session_id)
            most = max(most, len(at_work))
            seen.setdefault(batch.session, []).extend(event.id for event in batch.events)
            first = len(seen[batch.session]) == len(batch.events)
        if first:
            together.wait(DEADLINE_S)  # each of the four sessions' first batch, all at once
        with lock:
            at_work.remove(session_id)
        return Nothing(), None

    pump = make(observe)
    turns: dict[str, list[str]] = {}
    for _ in range(10):
        for session in ("a", "b", "c", "d"):
            turns.setdefault(session, []).extend(a_turn(store, events, session, tools=1))

    def work() -> None:
        while store.queue.figures().ready:
            pump.step()

    with ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(work) for _ in range(4)]:
            done.result(DEADLINE_S)
    assert store.queue.figures() == QueueFigures(done=120)
    assert seen == turns
    assert most == 4
