"""The pump on a real store: when batches go out, and what becomes of them whatever the observer does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from tests.contracts.store_contract import HOUR, NOON, Events, SettableClock, arrivals

from claude_mem.model.errors import StoreDamaged, StoreError, StoreUnavailable
from claude_mem.model.events import Kind
from claude_mem.model.jobs import JobState, Lease, QueueFigures, SessionBacklog, Spend
from claude_mem.model.memory import (
    Batch,
    Broken,
    Memory,
    Nothing,
    Observation,
    Observed,
    Outcome,
    Paused,
    Summary,
    Throttled,
    Unreadable,
)
from claude_mem.observe import policy
from claude_mem.queue.pump import SHORTEST_HOLD_MS, STORE_HOLD_MS, Pump
from claude_mem.queue.retry import LOOK_AGAIN_MS, backoff
from claude_mem.store import Queue, Store

SECOND = 1000
DEADLINE_S = 60.0
MINUTE = 60 * SECOND
SPEND = Spend("anthropic", "haiku", input_tokens=10, output_tokens=1, cost_usd=0.25)
DOWN = Broken("The model server refused the connection.", "provider")

Answer = tuple[Outcome, Spend | None]
Observe = Callable[[Batch, int], Answer]
Make = Callable[[Observe], Pump]


def due_at(gathered: SessionBacklog, now: int) -> int:
    decision = policy.decide(gathered, now)
    return decision.at if isinstance(decision, policy.Later) else now


@pytest.fixture
def clock() -> SettableClock:
    return SettableClock(NOON + SECOND)


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def store(tmp_path: Path, clock: SettableClock) -> Iterator[Store]:
    with Store.open(tmp_path / "claude-mem.db", clock=clock, backups=tmp_path / "backups") as store:
        yield store


@pytest.fixture
def told() -> list[str]:
    return []


@pytest.fixture
def make(store: Store, clock: SettableClock, told: list[str]) -> Make:
    return lambda observe: Pump(store.queue, observe, due_at, clock, told.append, jitter=lambda: 0.0)


class Script:
    """An observer that answers as it was told to, then with nothing worth keeping; it keeps what it saw."""

    def __init__(self, *answers: Outcome | Exception, spend: Spend | None = None) -> None:
        self.answers = list(answers)
        self.spend = spend
        self.shown: list[Batch] = []

    def __call__(self, batch: Batch, session_id: int) -> Answer:
        self.shown.append(batch)
        answer = self.answers.pop(0) if self.answers else Nothing()
        if isinstance(answer, Exception):
            raise answer
        return answer, self.spend

    @property
    def sessions(self) -> list[str]:
        return [batch.session for batch in self.shown]


def a_turn(store: Store, events: Events, session: str = "s1", tools: int = 2) -> list[str]:
    """A prompt, its tool uses and its stop, as they are queued; returns their ids."""
    made = [events.prompt("please", session)]
    made += [events.tool(session) for _ in range(tools)]
    made.append(events.make(Kind.STOP, session, text="done"))
    store.inbox.accept(arrivals(*made))
    return [event.id for event in made]


def pump_dry(pump: Pump, clock: SettableClock) -> int | None:
    """Step until nothing is due."""
    while (when := pump.step()) == clock.now:
        continue
    return when


def why_paused(pump: Pump) -> str | None:
    """Read anew: a type checker takes what was asserted of an attribute for granted from then on."""
    return pump.paused


def waiting(store: Store, state: JobState = JobState.READY) -> list[tuple[str, int, str | None]]:
    return [(job.event.id, job.attempts, reason) for job, reason in store.queue.jobs(state, 100)]


# When


def test_nothing_waits_until_something_arrives(make: Make) -> None:
    assert make(Script()).step() is None


def test_a_turn_goes_out_as_one_batch_when_it_has_ended(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(Observed(Memory((Observation("bugfix", title="T"),), (Summary(request="R"),))))
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
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script()
    pump = make(observer)
    tool = events.tool()
    store.inbox.accept(arrivals(tool))
    quiet_at = tool.at + policy.IDLE_MS
    assert pump.step() == quiet_at
    clock.now = quiet_at - 1
    assert pump.step() == quiet_at
    assert observer.shown == []
    clock.now = quiet_at
    assert pump.step() == clock.now
    assert len(observer.shown) == 1


def test_two_turns_are_two_batches_in_their_order(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script()
    turns = [a_turn(store, events), a_turn(store, events)]
    pump_dry(make(observer), clock)
    assert [[event.id for event in batch.events] for batch in observer.shown] == turns


def test_sessions_take_their_turns_by_the_age_of_what_waits(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script()
    for session in ("b", "a", "b", "c"):
        a_turn(store, events, session)
    pump_dry(make(observer), clock)
    assert observer.sessions == ["b", "a", "b", "c"]


def test_the_soonest_of_what_must_wait_is_when_to_look_again(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    late, soon = events.tool("late", at=NOON + SECOND), events.tool("soon", at=NOON)
    store.inbox.accept(arrivals(late, soon))
    assert make(Script()).step() == soon.at + policy.IDLE_MS


# What becomes of it


def test_a_reply_nobody_can_read_is_asked_for_three_times_then_parked_with_its_reason(
    store: Store, events: Events, clock: SettableClock, make: Make, told: list[str]
) -> None:
    observer = Script(*[Unreadable("prose: I am sorry")] * 3, spend=SPEND)
    pump = make(observer)
    ids = a_turn(store, events)
    for attempt in (1, 2):
        assert pump.step() == clock.now
        assert waiting(store) == [(id, attempt, "prose: I am sorry") for id in ids]
        assert pump.step() == clock.now + backoff(attempt)
        clock.now += backoff(attempt)
    assert pump.step() == clock.now
    assert waiting(store, JobState.PARKED) == [(id, 3, "prose: I am sorry") for id in ids]
    assert told == [
        "4 events were given up for now: the model's replies could not be read. Run: claude-mem queue list"
    ], "without the reply's own words: what is told is logged"
    assert pump.step() is None
    assert [[event.id for event in batch.events] for batch in observer.shown] == [ids] * 3
    session = store.sessions.find("s1")
    assert session is not None
    assert store.queue.spent(session.id, clock.now).session_usd == 0.75, "an unreadable reply was paid for"
    store.queue.resume()
    pump_dry(pump, clock)
    assert store.queue.figures() == QueueFigures(done=4)


def test_an_unreadable_reply_holds_back_its_own_session_alone(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(Unreadable("prose"), Unreadable("prose"))
    for session in ("a", "b", "c"):
        a_turn(store, events, session)
    assert pump_dry(make(observer), clock) == clock.now + backoff(1)
    assert observer.sessions == ["a", "b", "c"]


def test_told_to_wait_it_waits_as_told_counts_no_attempt_and_holds_all_sessions_back(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(Throttled(clock.now + 60 * SECOND))
    pump = make(observer)
    ids = a_turn(store, events, "a")
    a_turn(store, events, "b")
    assert pump.step() == clock.now
    assert waiting(store)[:4] == [(id, 0, "the provider asked to wait") for id in ids]
    assert pump.step() == clock.now + 60 * SECOND
    assert observer.sessions == ["a"]
    clock.now += 60 * SECOND
    assert pump_dry(pump, clock) is None
    assert observer.sessions == ["a", "a", "b"]


def test_told_to_wait_for_most_of_a_day_no_session_asks_before(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(Throttled(clock.now + 20 * HOUR))
    pump = make(observer)
    a_turn(store, events, "a")
    a_turn(store, events, "b")
    assert pump_dry(pump, clock) == clock.now + 20 * HOUR
    clock.now += 20 * HOUR
    pump_dry(pump, clock)
    assert observer.sessions == ["a", "a", "b"]


def test_told_to_wait_for_no_time_at_all_it_does_not_ask_in_a_circle(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    a_turn(store, events)
    assert pump_dry(make(Script(Throttled(0))), clock) == clock.now + SHORTEST_HOLD_MS


def test_a_pause_is_told_once_and_ends_when_what_was_wrong_is_mended(
    store: Store, events: Events, clock: SettableClock, make: Make, told: list[str]
) -> None:
    observer = Script(*[Paused("Log in again: claude login")] * 3, spend=None)
    pump = make(observer)
    ids = a_turn(store, events, "a")
    a_turn(store, events, "b")
    for _ in range(3):
        assert pump_dry(pump, clock) == clock.now + LOOK_AGAIN_MS
        assert pump.paused == "Log in again: claude login"
        clock.now += LOOK_AGAIN_MS
    assert told == ["Log in again: claude login"]
    assert [attempts for id, attempts, _reason in waiting(store) if id in ids] == [0] * 4
    pump_dry(pump, clock)
    assert pump.paused is None
    assert store.queue.figures() == QueueFigures(done=8)
    observer.answers = [Paused("Log in again: claude login")]
    a_turn(store, events, "a")
    pump_dry(pump, clock)
    assert len(told) == 2, "it is news again"


def test_released_it_tries_again_before_the_hold_is_over(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(Paused("Log in again: claude login"))
    pump = make(observer)
    a_turn(store, events, "a")
    a_turn(store, events, "b")
    pump_dry(pump, clock)
    pump.release()
    pump_dry(pump, clock)
    assert observer.sessions == ["a", "a", "b"]
    assert pump.paused is None


def test_a_batch_that_is_refused_is_given_up_after_three_attempts_and_that_is_told(
    store: Store, events: Events, clock: SettableClock, make: Make, told: list[str]
) -> None:
    pump = make(Script(*[Broken("The API says that the request is too long (413).")] * 3, spend=SPEND))
    store.inbox.accept(arrivals(events.make(Kind.STOP, text="done")))
    while (when := pump.step()) is not None:
        clock.now = when
    assert store.queue.figures() == QueueFigures(parked=1)
    assert told == [
        "1 event was given up for now: The API says that the request is too long (413). "
        "Run: claude-mem queue list"
    ]
    session = store.sessions.find("s1")
    assert session is not None
    assert store.queue.spent(session.id, clock.now).session_usd == 0.75


def test_a_provider_that_cannot_be_reached_costs_no_batch_an_attempt_however_long_it_takes(
    store: Store, events: Events, clock: SettableClock, make: Make, told: list[str]
) -> None:
    observer = Script(*[DOWN] * 600)
    pump = make(observer)
    ids = a_turn(store, events)
    asked_at: list[int] = []
    while len(asked_at) < 600:
        when = pump.step()
        if len(observer.shown) > len(asked_at):
            asked_at.append(clock.now)
            assert waiting(store) == [(id, 0, DOWN.reason) for id in ids]
        assert when is not None
        clock.now = when
    waits = [b - a for a, b in pairwise(asked_at)]
    assert waits[:3] == [backoff(1), backoff(2), backoff(3)]
    assert set(waits[3:]) == {LOOK_AGAIN_MS}, "two days of it, and never more often than that"
    assert told == [
        "The model cannot be reached: The model server refused the connection. "
        "Captured events wait; nothing is lost."
    ]
    assert pump.paused == told[0]
    clock.now += LOOK_AGAIN_MS
    pump_dry(pump, clock)
    assert store.queue.figures() == QueueFigures(done=4)
    assert why_paused(pump) is None
    observer.answers = [DOWN] * 4
    for session in "abcd":
        a_turn(store, events, session)
    while observer.answers:
        clock.now = max(clock.now, pump.step() or 0)
    assert len(told) == 2, "it is news again"


def test_one_outage_is_told_once_whatever_its_reasons(
    store: Store, events: Events, clock: SettableClock, make: Make, told: list[str]
) -> None:
    observer = Script(*[Broken(f"It answered {status}.", "provider") for status in range(500, 510)])
    pump = make(observer)
    a_turn(store, events)
    while observer.answers:
        clock.now = max(clock.now, pump.step() or 0)
    assert len(told) == 1
    assert "It answered 503" in told[0]


def test_a_session_alone_too_slow_for_its_provider_rests_though_all_others_are_answered(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    asked_at = []

    def observe(batch: Batch, session_id: int) -> Answer:
        if batch.session != "slow":
            return Nothing(), None
        asked_at.append(clock.now)
        return Broken("It did not answer in time.", "provider"), None

    pump = make(observe)
    a_turn(store, events, "slow")
    while len(asked_at) < 6:
        a_turn(store, events, "quick")
        clock.now = pump_dry(pump, clock) or clock.now + SECOND
    waits = [b - a for a, b in pairwise(asked_at)]
    assert waits == [backoff(1), backoff(2), backoff(3), LOOK_AGAIN_MS, LOOK_AGAIN_MS]


def test_two_failures_in_a_row_hold_all_sessions_back(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(DOWN, DOWN)
    pump = make(observer)
    for session in ("a", "b", "c"):
        a_turn(store, events, session)
    assert pump.step() == clock.now
    assert pump.step() == clock.now
    assert observer.sessions == ["a", "b"], "one failure holds nobody else back"
    assert pump.step() == clock.now + backoff(1)
    assert observer.sessions == ["a", "b"], "two do"
    clock.now += backoff(1)
    assert pump_dry(pump, clock) is None
    assert sorted(observer.sessions) == ["a", "a", "b", "b", "c"]
    assert store.queue.figures() == QueueFigures(done=12)


def test_the_longer_a_provider_is_out_of_order_the_longer_it_is_left_alone(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(*[DOWN] * 20)
    pump = make(observer)
    holds = []
    for number in range(8):
        a_turn(store, events, f"s{number}")
        while pump.step() == clock.now:
            continue
        held = pump.step()
        assert held is not None
        holds.append(held - clock.now)
        clock.now = held
    assert holds[1:6] == [backoff(1), backoff(2), backoff(3), LOOK_AGAIN_MS, LOOK_AGAIN_MS]
    assert len(waiting(store)) == 32, "nothing is lost, nothing given up"


def test_an_answer_in_between_ends_a_row_of_failures(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(DOWN, Nothing(), DOWN, Nothing())
    for session in ("a", "b", "c", "d"):
        a_turn(store, events, session)
    pump_dry(make(observer), clock)
    assert observer.sessions == ["a", "b", "c", "d"]


def test_who_wrote_an_observation_is_kept_with_it(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    seen = Observed(Memory((Observation("change", title="by a model"),)))
    a_turn(store, events)
    pump_dry(make(Script(seen, spend=SPEND)), clock)
    a_turn(store, events)
    pump_dry(make(Script(Observed(Memory((Observation("change", title="by none"),))))), clock)
    authors = store.writer.run(
        lambda db: [tuple(row) for row in db.execute("SELECT title, provider FROM observations")]
    )
    assert authors == [("by a model", "anthropic:haiku"), ("by none", "offline")]


# What goes wrong on our side


def test_an_observer_that_raises_is_heard_of_and_leaves_the_batch_ready(
    store: Store, events: Events, clock: SettableClock, make: Make
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
    store: Store, events: Events, clock: SettableClock, make: Make, told: list[str]
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
    assert told == [
        "4 events were given up for now: the observer failed: ValueError: oops. Run: claude-mem queue list"
    ]
    assert pump_dry(pump, clock) is None
    assert store.queue.figures() == QueueFigures(parked=4, done=4)


def test_what_cannot_be_stored_now_is_given_back_when_it_can_be_and_not_asked_for_in_between(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    def set_writable(writable: bool) -> None:
        pragma = f"PRAGMA query_only = {'OFF' if writable else 'ON'}"
        store.writer.alone(lambda db: db.execute(pragma).fetchall())

    script = Script(Observed(Memory((Observation("change", title="T"),))), spend=SPEND)

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
            self, lease: Lease, memory: Memory, spend: Spend | None = None, *, provider: str | None = None
        ) -> None:
            if broken:
                raise damaged
            super().settle(lease, memory, spend, provider=provider)

        def postpone(
            self, lease: Lease, until: int, reason: str, *, failed: bool, spend: Spend | None = None
        ) -> None:
            if broken and at == "postpone":
                raise damaged
            assert not failed, "it was not the batch's doing"
            super().postpone(lease, until, reason, failed=failed, spend=spend)

    observer = Script(spend=SPEND)
    with Store.open(tmp_path / "m.db", clock=clock, backups=tmp_path / "b") as store:
        pump = Pump(
            Damaged(store.readers, store.writer, clock),
            observer,
            due_at,
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
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    def forget(batch: Batch, session_id: int) -> Answer:
        store.writer.run(lambda db: db.execute("DELETE FROM sdk_sessions").rowcount)
        return Observed(Memory((Observation("change", title="T"),))), SPEND

    pump = make(forget)
    a_turn(store, events)
    with pytest.raises(StoreError, match="stale"):
        pump.step()
    assert pump.step() is None
    assert store.queue.figures() == QueueFigures()


def test_what_went_wrong_first_is_heard_of_also_when_there_is_nothing_left_to_give_back(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    def forget(batch: Batch, session_id: int) -> Answer:
        store.writer.run(lambda db: db.execute("DELETE FROM sdk_sessions").rowcount)
        raise ValueError("oops")

    a_turn(store, events)
    with pytest.raises(ValueError, match="oops"):
        make(forget).step()


# Aborting


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
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Blocking(Observed(Memory((Observation("change", title="too late"),))))
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
    store.inbox.accept(arrivals(events.prompt("back")))
    script = Script()
    pump_dry(make(script), clock)
    assert [event.id for event in script.shown[0].events] == ids


def test_an_abort_of_a_session_nobody_works_on_is_done_at_once(
    store: Store, events: Events, clock: SettableClock, make: Make
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
    with Store.open(tmp_path / "m.db", clock=clock, backups=tmp_path / "b") as store:
        pump = Pump(
            AbortedWhileItLeases(store.readers, store.writer, clock),
            observer,
            due_at,
            clock,
            told.append,
            jitter=lambda: 0.0,
        )
        a_turn(store, events)
        pump.step()
        assert observer.shown == [], "nobody was asked for nothing"
        assert store.queue.figures().ready == 4


# Side by side


def test_threads_share_the_sessions_and_never_hold_one_together(
    store: Store, events: Events, clock: SettableClock, make: Make
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


class InTurn:
    """An observer of sessions that ask together and are answered one after the other."""

    def __init__(self, **answers: Outcome) -> None:
        self.answers: dict[str, Outcome] = {}
        self.begun: dict[str, threading.Event] = {}
        self.may_end: dict[str, threading.Event] = {}
        for session, answer in answers.items():
            self.expect(session, answer)

    def expect(self, session: str, answer: Outcome) -> threading.Event:
        self.answers[session], self.begun[session] = answer, threading.Event()
        return self.may_end.setdefault(session, threading.Event())

    def __call__(self, batch: Batch, session_id: int) -> Answer:
        self.begun[batch.session].set()
        assert self.may_end[batch.session].wait(DEADLINE_S)
        return self.answers[batch.session], None

    def answer_in_turn(self, pump: Pump) -> None:
        with ThreadPoolExecutor(len(self.answers)) as pool:
            stepping = {}
            for session in self.answers:
                stepping[session] = pool.submit(pump.step)
                assert self.begun[session].wait(DEADLINE_S)
            for session in self.answers:
                self.may_end[session].set()
                stepping[session].result(DEADLINE_S)


LESS = {
    "a shorter wait": Throttled(NOON + MINUTE),
    "a pause": Paused("Log in again: claude login"),
    "an outage": DOWN,
    "an answer": Nothing(),
}


@pytest.mark.parametrize("less", LESS.values(), ids=LESS)
def test_told_to_wait_an_hour_nobody_who_asked_meanwhile_makes_it_less(
    store: Store, events: Events, clock: SettableClock, make: Make, less: Outcome
) -> None:
    observer = InTurn(a=Throttled(clock.now + HOUR), b=less, c=less)
    pump = make(observer)
    for session in "abc":
        a_turn(store, events, session)
    observer.answer_in_turn(pump)
    assert pump.step() == clock.now + HOUR
    pump.release()
    a_turn(store, events, "d")
    observer.expect("d", Nothing()).set()
    assert pump.step() == clock.now, "but who has mended something may see it tried"


def test_a_hold_of_a_clock_that_was_set_back_does_not_count(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    pump = make(Script(Throttled(clock.now + 20 * HOUR), Throttled(0)))
    a_turn(store, events, "a")
    a_turn(store, events, "b")
    pump_dry(pump, clock)
    clock.now -= 100 * HOUR
    assert pump.step() == clock.now
    assert pump.step() == clock.now + SHORTEST_HOLD_MS


def test_an_answer_from_before_a_pause_does_not_end_it(
    store: Store, events: Events, clock: SettableClock, make: Make, told: list[str]
) -> None:
    observer = InTurn(a=Paused("Log in again: claude login"), b=Nothing())
    pump = make(observer)
    for session in "ab":
        a_turn(store, events, session)
    observer.answer_in_turn(pump)
    assert pump.paused == "Log in again: claude login"
    assert pump.step() == clock.now + LOOK_AGAIN_MS, "nothing is observed, and it is said why"
    clock.now += LOOK_AGAIN_MS
    observer.answers["a"] = Nothing()
    pump_dry(pump, clock)
    assert why_paused(pump) is None
    assert len(told) == 1


def test_an_answer_after_a_release_ends_a_pause(
    store: Store, events: Events, clock: SettableClock, make: Make
) -> None:
    pump = make(Script(Paused("Log in again: claude login")))
    a_turn(store, events)
    pump_dry(pump, clock)
    pump.release()
    pump_dry(pump, clock)
    assert pump.paused is None
