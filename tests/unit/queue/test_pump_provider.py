"""What a provider says about itself holds back all sessions, and what a batch does that batch alone."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from tests.contracts.store_contract import HOUR, NOON, Events, SettableClock, new_events
from tests.unit.queue.pump_setup import (
    DEADLINE_S,
    DOWN,
    MINUTE,
    OFFLINE_TITLE,
    SECOND,
    SPEND,
    Answer,
    Make,
    Script,
    a_turn,
    pump_dry,
    titles,
    waiting,
    why_paused,
)

from claude_mem.model.events import Kind
from claude_mem.model.jobs import JobState, QueueFigures
from claude_mem.model.memory import (
    Batch,
    Broken,
    Findings,
    Nothing,
    Observation,
    Observed,
    Outcome,
    Paused,
    Throttled,
    Unreadable,
)
from claude_mem.queue.pump import SHORTEST_HOLD_MS, Pump
from claude_mem.queue.schedule import LOOK_AGAIN_MS, backoff
from claude_mem.store.sqlite import SqliteStore


def test_a_reply_nobody_can_read_is_asked_for_three_times_then_remembered_offline_until_it_is_retried(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make, told: list[str]
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
    assert len(told) == 1
    assert "I am sorry" not in told[0], "without the reply's own words: what is told is logged"
    assert store.queue.figures() == QueueFigures(parked=4, fallback=4)
    assert titles(store) == [OFFLINE_TITLE]
    assert pump.step() is None
    assert [[event.id for event in batch.events] for batch in observer.shown] == [ids] * 3
    session = store.sessions.find("s1")
    assert session is not None
    assert store.queue.spent(session.id, clock.now).session_usd == 0.75, "an unreadable reply was paid for"
    observer.answers = [Observed(Findings((Observation("change", title="As the model saw it"),)))]
    store.queue.resume()
    pump_dry(pump, clock)
    assert store.queue.figures() == QueueFigures(done=4)
    assert observer.shown[-1].recorded == (), "it is not told what only stands in for its answer"
    assert titles(store) == ["As the model saw it"]


def test_a_fallback_that_fails_leaves_the_batch_parked_with_that_reason(
    store: SqliteStore, events: Events, clock: SettableClock, told: list[str]
) -> None:
    def fail(_: Batch) -> Findings:
        raise KeyError("secret words")

    observer = Script(*[Unreadable("prose")] * 3)
    pump = Pump(store.queue, observer, fail, clock, told.append, jitter=lambda: 0.0)
    a_turn(store, events)
    for attempt in (1, 2):
        pump.step()
        clock.now += backoff(attempt)
    with pytest.raises(KeyError):
        pump.step()
    assert store.queue.figures() == QueueFigures(parked=4)
    assert titles(store) == []


def test_an_unreadable_reply_holds_back_its_own_session_alone(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(Unreadable("prose"), Unreadable("prose"))
    for session in ("a", "b", "c"):
        a_turn(store, events, session)
    assert pump_dry(make(observer), clock) == clock.now + backoff(1)
    assert observer.sessions == ["a", "b", "c"]


def test_told_to_wait_it_waits_as_told_counts_no_attempt_and_holds_all_sessions_back(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
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
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
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
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    a_turn(store, events)
    assert pump_dry(make(Script(Throttled(0))), clock) == clock.now + SHORTEST_HOLD_MS


def test_a_pause_is_told_once_and_ends_when_what_was_wrong_is_mended(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make, told: list[str]
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
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
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
    store: SqliteStore, events: Events, clock: SettableClock, make: Make, told: list[str]
) -> None:
    pump = make(Script(*[Broken("The request is too long (413).")] * 3, spend=SPEND))
    store.events.accept(new_events(events.make(Kind.STOP, text="done")))
    while (when := pump.step()) is not None:
        clock.now = when
    assert store.queue.figures() == QueueFigures(parked=1)
    (notice,) = told
    assert notice.startswith("1 event ")
    assert notice.endswith("The request is too long (413). Run: claude-mem queue list")
    session = store.sessions.find("s1")
    assert session is not None
    assert store.queue.spent(session.id, clock.now).session_usd == 0.75


def test_a_provider_that_cannot_be_reached_costs_no_batch_an_attempt_however_long_it_takes(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make, told: list[str]
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
    (notice,) = told
    assert DOWN.reason in notice
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
    store: SqliteStore, events: Events, clock: SettableClock, make: Make, told: list[str]
) -> None:
    observer = Script(*[Broken(f"It answered {status}.", "provider") for status in range(500, 510)])
    pump = make(observer)
    a_turn(store, events)
    while observer.answers:
        clock.now = max(clock.now, pump.step() or 0)
    assert len(told) == 1
    assert "It answered 503" in told[0]


def test_a_session_alone_too_slow_for_its_provider_rests_though_all_others_are_answered(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
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
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
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
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
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
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    observer = Script(DOWN, Nothing(), DOWN, Nothing())
    for session in ("a", "b", "c", "d"):
        a_turn(store, events, session)
    pump_dry(make(observer), clock)
    assert observer.sessions == ["a", "b", "c", "d"]


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
    store: SqliteStore, events: Events, clock: SettableClock, make: Make, less: Outcome
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
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    pump = make(Script(Throttled(clock.now + 20 * HOUR), Throttled(0)))
    a_turn(store, events, "a")
    a_turn(store, events, "b")
    pump_dry(pump, clock)
    clock.now -= 100 * HOUR
    assert pump.step() == clock.now
    assert pump.step() == clock.now + SHORTEST_HOLD_MS


def test_an_answer_from_before_a_pause_does_not_end_it(
    store: SqliteStore, events: Events, clock: SettableClock, make: Make, told: list[str]
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
    store: SqliteStore, events: Events, clock: SettableClock, make: Make
) -> None:
    pump = make(Script(Paused("Log in again: claude login")))
    a_turn(store, events)
    pump_dry(pump, clock)
    pump.release()
    pump_dry(pump, clock)
    assert pump.paused is None
