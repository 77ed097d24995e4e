"""What sessions were told is counted once, however often it is asked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.contracts.store_contract import NOON, Events, SettableClock, new_events

from claude_mem.store.relational.sessions import Injections
from claude_mem.store.sqlite import SqliteStore, survey
from claude_mem.store.values import ForgetPlan, Injection, InjectionTotals

OpenStore = Callable[[], SqliteStore]


def test_what_was_told_is_counted_on_by_occasion(open_store: OpenStore, clock: SettableClock) -> None:
    with open_store() as store:
        keeping, told = store, store.injections
        assert told.figures() == {}
        keeping.injections.note_injection(Injection("s1", "SessionStart", ("1",), 40, NOON))
        keeping.injections.note_injection(Injection("s1", "UserPromptSubmit", ("1",), 7, NOON))
        assert told.figures() == told.figures()
        keeping.injections.note_injection(Injection("s2", "SessionStart", ("1", "s3"), 2, NOON))
        expected = {
            "SessionStart": {"times": 2, "tokens": 42},
            "UserPromptSubmit": {"times": 1, "tokens": 7},
        }
        assert told.figures() == expected == Injections(store.readers, store.writer, clock).figures()


def test_a_count_does_not_fall_when_a_session_is_forgotten(
    open_store: OpenStore, clock: SettableClock, events: Events
) -> None:
    with open_store() as store:
        store.events.accept(new_events(events.prompt("p")))
        keeping, told = store, store.injections
        keeping.injections.note_injection(Injection("s1", "SessionStart", ("1",), 40, NOON))
        assert told.figures()
        keeping.deletion.forget(ForgetPlan(sessions=("s1",)))
        assert told.figures() == {"SessionStart": {"times": 1, "tokens": 40}}
        assert Injections(store.readers, store.writer, clock).figures() == {}, "from the next start on"


def test_from_outside_it_is_told_since_a_time(
    open_store: OpenStore, clock: SettableClock, database: Path
) -> None:
    with open_store() as store:
        keeping = store
        keeping.injections.note_injection(Injection("s1", "SessionStart", ("1",), 40, NOON - 1))
        keeping.injections.note_injection(Injection("s1", "SessionStart", ("1",), 2, NOON))
    assert survey.count_since(database, NOON, NOON).injected == {"SessionStart": InjectionTotals(1, 2)}


def test_from_outside_a_survey_says_how_far_the_indexes_are(
    open_store: OpenStore, database: Path, backups: Path, events: Events
) -> None:
    with open_store() as store:
        store.events.accept(new_events(events.prompt("p")))
    seen = survey.survey_database(database, backups, NOON)
    assert (seen.unindexed, seen.unembedded) == (2, 1)  # the event and its prompt; evidence has no vectors
