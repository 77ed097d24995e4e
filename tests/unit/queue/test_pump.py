"""The pump on a real store: when batches go out, and what becomes of them whatever the observer does."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contracts.store_contract import NOON, Events, SettableClock, new_events
from tests.unit.queue.pump_setup import (
    SECOND,
    SPEND,
    Answer,
    Make,
    Script,
    a_turn,
    fall_back,
    pump_dry,
    waiting,
)

from claude_mem.model.errors import StoreDamaged, StoreError, StoreUnavailable
from claude_mem.model.events import Kind
from claude_mem.model.jobs import CallCost, JobState, Lease, QueueFigures
from claude_mem.model.memory import (
    Batch,
    Findings,
    Nothing,
    Observation,
    Observed,
    Summary,
)
from claude_mem.queue import schedule
from claude_mem.queue.pump import STORE_HOLD_MS, Pump
from claude_mem.queue.schedule import backoff
from claude_mem.store.relational.queue import Queue
from claude_mem.store.sqlite import SqliteStore


def test_nothing_waits_until_something_arrives(make: Make) -> None:
    assert make(Script()).step() is None


def test_a_turn_goes_out_as_one_batch_when_it_has_ended(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(Observed(Findings((Observation("bugfix", title="T"),), (Summary(request="R"),))))
    pump = make(observer)
    ids = a_turn(store, events, tools=20)
    assert pump.step() == clock.now
    (batch,) = observer.shown
    assert [event.id for event in batch.events] == ids
    assert (batch.request, batch.wants_summary) == ("please", True)
    assert store.queue.figures() == QueueFigures(done=22)
    session = store.sessions.find("s1")
    assert session is not None
    assert session.title == "R"
    assert pump.step() is None


def test_nothing_goes_out_before_it_is_due(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script()
    pump = make(observer)
    tool = events.tool()
    store.events.accept(new_events(tool))
    quiet_at = tool.at + schedule.IDLE_MS
    assert pump.step() == quiet_at
    clock.now = quiet_at - 1
    assert pump.step() == quiet_at
    assert observer.shown == []
    clock.now = quiet_at
    assert pump.step() == clock.now
    assert len(observer.shown) == 1


def test_two_turns_are_two_batches_in_their_order(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script()
    turns = [a_turn(store, events), a_turn(store, events)]
    pump_dry(make(observer), clock)
    assert [[event.id for event in batch.events] for batch in observer.shown] == turns


def test_sessions_take_their_turns_by_the_age_of_what_waits(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script()
    for session in ("b", "a", "b", "c"):
        a_turn(store, events, session)
    pump_dry(make(observer), clock)
    assert observer.sessions == ["b", "a", "b", "c"]


def test_the_soonest_of_what_must_wait_is_when_to_look_again(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    late, soon = events.tool("late", at=NOON + SECOND), events.tool("soon", at=NOON)
    store.events.accept(new_events(late, soon))
    assert make(Script()).step() == soon.at + schedule.IDLE_MS


def test_who_wrote_an_observation_is_kept_with_it(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    seen = Observed(Findings((Observation("change", title="by a model"),)))
    a_turn(store, events)
    pump_dry(make(Script(seen, spend=SPEND)), clock)
    a_turn(store, events)
    pump_dry(make(Script(Observed(Findings((Observation("change", title="by none"),))))), clock)
    authors = store.writer.run(
        lambda db: [tuple(row) for row in db.execute("SELECT title, provider FROM observations")]
    )
    assert authors == [("by a model", "anthropic:haiku"), ("by none", "offline")]


def test_an_observer_that_raises_is_heard_of_and_leaves_the_batch_ready(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(ValueError("oops"))
    pump = make(observer)
    ids = a_turn(store, events)
    with pytest.raises(ValueError, match="oops"):
        pump.step()
    assert waiting(store) == [(id, 1, "the observer failed: ValueError: oops") for id in ids]
    assert pump.step() == clock.now + backoff(1)
    clock.now += backoff(1)
    assert pump_dry(pump, clock) is None
    assert store.queue.figures() == QueueFigures(done=4)


def test_a_batch_no_observer_survives_is_parked_and_its_session_goes_on(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make, told: list[str]
) -> None:
    observer = Script(*[ValueError("oops")] * 3)
    pump = make(observer)
    ids = a_turn(store, events)
    a_turn(store, events)
    for attempt in (1, 2, 3):
        with pytest.raises(ValueError, match="oops"):
            pump.step()
        clock.now += backoff(attempt)
    assert waiting(store, JobState.PARKED) == [(id, 3, "the observer failed: ValueError: oops") for id in ids]
    (notice,) = told
    assert notice.startswith("4 events ")
    assert notice.endswith("the observer failed: ValueError. Run: claude-mem queue list")
    assert pump_dry(pump, clock) is None
    assert store.queue.figures() == QueueFigures(parked=4, done=4)


def test_what_cannot_be_stored_now_is_given_back_when_it_can_be_and_not_asked_for_in_between(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    def set_writable(writable: bool) -> None:
        pragma = f"PRAGMA query_only = {'OFF' if writable else 'ON'}"
        store.writer.alone(lambda db: db.execute(pragma).fetchall())

    script = Script(Observed(Findings((Observation("change", title="T"),))), spend=SPEND)

    def while_the_disk_fills_up(batch: Batch, session_id: int) -> Answer:
        answer = script(batch, session_id)
        set_writable(len(script.shown) > 1)
        return answer

    pump = make(while_the_disk_fills_up)
    a_turn(store, events, "a")
    a_turn(store, events, "b")
    with pytest.raises(StoreUnavailable):
        pump.step()
    assert store.queue.figures().leased == 4, "it could not even be given back"
    assert pump.step() == clock.now + STORE_HOLD_MS
    set_writable(True)
    clock.now += STORE_HOLD_MS
    assert pump_dry(pump, clock) is None
    assert script.sessions == ["a", "a", "b"]
    assert store.queue.figures() == QueueFigures(done=8)
    session = store.sessions.find("a")
    assert session is not None
    assert store.queue.spent(session.id, clock.now).session_usd == 0.5, "what was paid for was paid for"


@pytest.mark.parametrize("at", ["postpone", "settle"])
def test_a_damaged_store_is_not_the_batchs_fault_and_is_heard_of(
    tmp_path: Path, events: Events, clock: SettableClock, told: list[str], at: str
) -> None:
    damaged = StoreDamaged("claude-mem.db", "database disk image is malformed")

    broken = True

    class Damaged(Queue):
        def settle(
            self,
            lease: Lease,
            findings: Findings,
            spend: CallCost | None = None,
            *,
            provider: str | None = None,
        ) -> None:
            if broken:
                raise damaged
            super().settle(lease, findings, spend, provider=provider)

        def postpone(
            self, lease: Lease, until: int, reason: str, *, failed: bool, spend: CallCost | None = None
        ) -> None:
            if broken and at == "postpone":
                raise damaged
            assert not failed, "it was not the batch's doing"
            super().postpone(lease, until, reason, failed=failed, spend=spend)

    observer = Script(spend=SPEND)
    with SqliteStore.open(tmp_path / "m.db", clock=clock, backups=tmp_path / "b") as store:
        pump = Pump(
            Damaged(store.readers, store.writer, clock),
            observer,
            fall_back,
            clock,
            told.append,
            jitter=lambda: 0.0,
        )
        a_turn(store, events)
        for _ in range(4):
            with pytest.raises(StoreDamaged):
                pump.step()
            assert pump.step() == clock.now + STORE_HOLD_MS, "to ask again at once would be to pay again"
            clock.now += STORE_HOLD_MS
            if at == "postpone":
                break  # what is stranded is not asked about again while it cannot even be given back
        broken = False
        assert pump_dry(pump, clock) is None
        assert store.queue.figures() == QueueFigures(done=4)


def test_a_session_forgotten_while_it_is_observed_leaves_nothing_behind(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    def forget(batch: Batch, session_id: int) -> Answer:
        store.writer.run(lambda db: db.execute("DELETE FROM sdk_sessions").rowcount)
        return Observed(Findings((Observation("change", title="T"),))), SPEND

    pump = make(forget)
    a_turn(store, events)
    with pytest.raises(StoreError, match="stale"):
        pump.step()
    assert pump.step() is None
    assert store.queue.figures() == QueueFigures()


def test_what_went_wrong_first_is_heard_of_also_when_there_is_nothing_left_to_give_back(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    def forget(batch: Batch, session_id: int) -> Answer:
        store.writer.run(lambda db: db.execute("DELETE FROM sdk_sessions").rowcount)
        raise ValueError("oops")

    a_turn(store, events)
    with pytest.raises(ValueError, match="oops"):
        make(forget).step()


def test_empty_blocks_are_counted_and_a_skipped_summary_leaves_its_reason_in_the_log(
    store: SqliteStore, events: Events, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="claude_mem")
    store.events.accept(new_events(events.tool(), events.make(Kind.STOP)))
    make(Script(Nothing(empty=2, skipped="only a greeting"))).step()
    assert store.queue.counters()["empty_blocks"] == 2
    assert [record.getMessage() for record in caplog.records if "only a greeting" in record.getMessage()]
    assert store.queue.figures().done == 2
