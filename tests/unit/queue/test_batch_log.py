"""The line that every batch leaves in the log."""

from __future__ import annotations

import logging

import pytest
from tests.contracts.store_contract import Events, SettableClock
from tests.unit.queue.pump_setup import MINUTE, SPEND, Make, Script, a_turn, pump_dry

from claude_mem.model.memory import Findings, Nothing, Observation, Observed, Throttled, Unreadable
from claude_mem.queue.batch_log import BatchLog, BatchReport
from claude_mem.store.sqlite import SqliteStore

WORDS = "the user's own words"


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[str, dict[str, str]]]:
    ours = [record for record in caplog.records if record.name == "claude_mem.queue"]
    return [
        (record.levelname, dict(field.split("=") for field in record.getMessage().split()))
        for record in ours
        if " holds " not in record.getMessage()
    ]


@pytest.fixture(autouse=True)
def _heard(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "claude_mem.queue")


def test_a_batch_leaves_one_line_with_session_events_provider_tokens_duration_and_outcome(
    store: SqliteStore, events: Events, make: Make, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    ids = a_turn(store, events, tools=3)
    memory = Findings((Observation("bugfix", title=WORDS),))
    pump = make(Script(Observed(memory), spend=SPEND))
    pump_dry(pump, clock)
    ((level, fields),) = lines(caplog)
    assert level == "INFO"
    assert int(fields.pop("ms")) >= 0
    session = store.sessions.find("s1")
    assert session
    assert fields == {
        "batch": "1",
        "session": str(session.id),
        "events": "5",
        "jobs": "1-5",
        "first": ids[0],
        "last": ids[-1],
        "provider": "anthropic:haiku",
        "tokens": "10+1",
        "usd": "0.2500",
        "attempt": "1",
        "outcome": "stored",
        "observations": "1",
        "summaries": "0",
    }
    assert " ".join(ids) in caplog.text  # at DEBUG, every event of it
    assert WORDS not in caplog.text
    counts, seconds = pump.batches.figures()
    assert counts == {"stored": 1}
    assert seconds["stored"] >= 0
    within, total = pump.batches.durations()
    assert within["+Inf"] == within["180.0"] == 1
    assert total == seconds["stored"]


def test_durations_are_counted_up_to_their_bounds(store: SqliteStore, events: Events) -> None:
    a_turn(store, events)
    lease = store.queue.lease(10)
    assert lease is not None
    batches = BatchLog()
    for ms in (40, 100, 101, 2_000, 200_000):
        batches.add(BatchReport(lease, "stored", ms))
    within, total = batches.durations()
    assert list(within.values()) == sorted(within.values())
    assert (within["0.1"], within["0.5"], within["2.5"], within["180.0"], within["+Inf"]) == (2, 3, 4, 4, 5)
    assert total == 202.241


def test_each_unreadable_reply_is_a_warning_and_none_of_it_is_quoted(
    store: SqliteStore, events: Events, make: Make, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    a_turn(store, events)
    pump = make(Script(*[Unreadable(f"It said: {WORDS}")] * 3, spend=SPEND))
    for _ in range(3):
        pump_dry(pump, clock)
        clock.now += 10 * MINUTE
    found = lines(caplog)
    assert [(level, each["outcome"], each["cause"], each["attempt"]) for level, each in found] == [
        ("WARNING", "retry", "unreadable", "1"),
        ("WARNING", "retry", "unreadable", "2"),
        ("WARNING", "fallback", "unreadable", "3"),
    ]
    assert WORDS not in caplog.text


def test_an_observer_that_fails_is_logged_and_told_by_the_errors_type_alone(
    store: SqliteStore,
    events: Events,
    make: Make,
    clock: SettableClock,
    caplog: pytest.LogCaptureFixture,
    told: list[str],
) -> None:
    a_turn(store, events)
    pump = make(Script(*[KeyError(WORDS)] * 3))
    for _ in range(3):
        with pytest.raises(KeyError):
            pump.step()
        clock.now += 10 * MINUTE
    found = lines(caplog)
    assert [(level, each["outcome"], each["cause"]) for level, each in found] == [
        ("WARNING", "failed", "KeyError")
    ] * 3
    assert len(told) == 1
    assert "KeyError" in told[0]
    assert WORDS not in told[0] + caplog.text


def test_a_wait_and_a_batch_with_nothing_in_it_are_no_warnings(
    store: SqliteStore, events: Events, make: Make, clock: SettableClock, caplog: pytest.LogCaptureFixture
) -> None:
    a_turn(store, events)
    pump = make(Script(Throttled(clock.now + MINUTE), Nothing()))
    pump_dry(pump, clock)
    clock.now += 2 * MINUTE
    pump_dry(pump, clock)
    assert [(level, each["outcome"], each.get("cause")) for level, each in lines(caplog)] == [
        ("INFO", "waits", "throttled"),
        ("INFO", "nothing", None),
    ]
