"""The past waits for the present, and is observed in the order it came, whoever else is at work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store_contract import NOON, Events, SettableClock, new_events
from tests.unit.queue.pump_setup import fall_back

from claude_mem.model.events import TRANSCRIPT_PREFIX, Event, Kind
from claude_mem.model.jobs import CallCost
from claude_mem.model.memory import Batch, Findings, Observed, Outcome, Paused
from claude_mem.queue.pump import Pump
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import BackfillOptions

OFFLINE = BackfillOptions(offline=True)
DEADLINE_S = 60


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON + 60_000)


@pytest.fixture
def store(tmp_path: Path, clock: SettableClock) -> Iterator[SqliteStore]:
    with SqliteStore.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
        yield store


class Observer:
    """Notes whose batch it is given; holds on to one session's until it is let go."""

    def __init__(self, hold: str | None = None) -> None:
        self.seen: list[str] = []
        self._hold, self.holding, self.go_on = hold, threading.Event(), threading.Event()

    def __call__(self, batch: Batch, session_id: int) -> tuple[Outcome, CallCost | None]:
        self.seen.append(batch.session)
        if batch.session == self._hold:
            self.holding.set()
            assert self.go_on.wait(DEADLINE_S)
        return Observed(Findings()), None


def pump(store: SqliteStore, observe: Observer, clock: SettableClock) -> Pump:
    return Pump(store.queue, observe, fall_back, clock, lambda _: None, lambda: 0.0)


def turn(events: Events, session: str, *, past: bool = True) -> list[Event]:
    before = TRANSCRIPT_PREFIX if past else ""
    at = NOON - 10**9 if past else NOON
    return [
        events.tool(session, id=f"{before}{session}-use", at=at),
        events.make(Kind.STOP, session, id=f"{before}{session}-stop", at=at, text="done"),
    ]


def test_what_is_done_now_goes_before_the_past(store: SqliteStore, clock: SettableClock) -> None:
    events, observe = Events(), Observer()
    for name in ("old-1", "old-2"):
        store.events.accept_past(new_events(*turn(events, name)), OFFLINE)
    store.events.accept(new_events(*turn(events, "live", past=False)))
    pumping = pump(store, observe, clock)
    while pumping.step() is not None:
        pass
    assert observe.seen == ["live", "old-1", "old-2"]


def test_of_the_past_one_session_is_observed_at_a_time_and_live_ones_beside_it(
    store: SqliteStore, clock: SettableClock
) -> None:
    events, observe = Events(), Observer(hold="old-1")
    for name in ("old-1", "old-2"):
        store.events.accept_past(new_events(*turn(events, name)), OFFLINE)
    pumping = pump(store, observe, clock)
    first = threading.Thread(target=pumping.step)
    first.start()
    assert observe.holding.wait(DEADLINE_S)
    again = pumping.step()
    assert again is not None
    assert again > clock()  # to look again soon, for it is due
    assert observe.seen == ["old-1"]
    store.events.accept(new_events(*turn(events, "live", past=False)))
    assert pumping.step() == clock()
    assert observe.seen == ["old-1", "live"]
    observe.go_on.set()
    first.join(DEADLINE_S)
    pumping.step()
    assert observe.seen == ["old-1", "live", "old-2"]


def test_a_session_that_is_still_being_told_waits_and_not_for_ever(
    store: SqliteStore, clock: SettableClock
) -> None:
    events, observe = Events(), Observer()
    held = BackfillOptions(offline=True, hold_until=clock() + 1000)
    store.events.accept_past(new_events(*turn(events, "half")), held)
    pumping = pump(store, observe, clock)
    assert pumping.step() is None
    assert store.events.progress(0).waiting == 0
    clock.now += 1001
    pumping.step()
    assert observe.seen == ["half"]

    store.events.accept_past(
        new_events(*turn(events, "whole")), BackfillOptions(offline=True, hold_until=clock() + 10**9)
    )
    store.events.release(["whole"])
    pumping.step()
    assert observe.seen == ["half", "whole"]


def test_a_model_that_cannot_be_asked_holds_up_nothing_that_needs_none(
    store: SqliteStore, clock: SettableClock
) -> None:
    events = Events()
    seen: list[str] = []

    def observe(batch: Batch, session_id: int) -> tuple[Outcome, CallCost | None]:
        seen.append(batch.session)
        return (Observed(Findings()) if batch.offline else Paused("Log in.")), None

    pumping = Pump(store.queue, observe, fall_back, clock, lambda _: None, lambda: 0.0)
    store.events.accept(new_events(*turn(events, "live", past=False)))
    pumping.step()
    store.events.accept_past(new_events(*turn(events, "asks")), BackfillOptions(offline=False))
    store.events.accept_past(new_events(*turn(events, "free")), OFFLINE)
    pumping.step()
    pumping.step()
    assert seen == ["live", "free"]
    assert pumping.paused == "Log in."  # what needs no model says nothing about it
