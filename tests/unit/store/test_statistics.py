"""What is new since some marks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.contracts.memory_write_contract import ELSEWHERE
from tests.contracts.store_contract import Events, new_events

from claude_mem.model.events import Kind
from claude_mem.model.memory import Findings, Observation
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import News, NewsMarks


@pytest.fixture
def store(open_store: Callable[[], SqliteStore]) -> Iterator[SqliteStore]:
    with open_store() as store:
        yield store


def news(store: SqliteStore, marks: NewsMarks | None) -> News:
    return store.statistics.news(marks)


def test_news_are_told_once_and_by_project(store: SqliteStore, events: Events) -> None:
    marks = news(store, None).marks
    assert news(store, marks) == News(marks)
    store.events.accept(new_events(events.prompt("x")))
    first = news(store, marks)
    assert first.projects == (1,), "a session of it has begun"
    store.events.accept(new_events(events.tool()))
    second = news(store, first.marks)
    assert second.projects == (), "an event alone is nothing to tell"
    store.events.accept(new_events(events.prompt("y", "m"), origin=ELSEWHERE))
    assert news(store, second.marks).projects == (2,)
    lease = store.queue.lease(10)
    assert lease is not None
    before = news(store, None).marks
    store.queue.settle(lease, Findings((Observation("change", "z"),)))
    assert news(store, before).projects == (1,)


def test_a_compaction_names_its_session_once(store: SqliteStore, events: Events) -> None:
    store.events.accept(new_events(events.prompt("x")))
    marks = news(store, None).marks
    store.events.accept(
        new_events(events.make(Kind.PRE_COMPACT, note="auto"), events.make(Kind.POST_COMPACT, text="s"))
    )
    told = news(store, marks)
    assert told.compacted == ((1, "s1"),)
    assert news(store, told.marks).compacted == ()
