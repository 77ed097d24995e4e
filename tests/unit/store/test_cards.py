"""Rows as cards: what each kind is called, however odd what it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.contracts.store_contract import Events, new_events

from claude_mem.model.events import Kind, ToolCall
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Card, Ref
from claude_mem.store.relational.cards import TITLE, cards
from claude_mem.store.sqlite import SqliteStore


@pytest.fixture
def store(open_store: Callable[[], SqliteStore]) -> Iterator[SqliteStore]:
    with open_store() as store:
        yield store


@pytest.fixture
def evidence(store: SqliteStore, events: Events) -> Callable[..., Card]:
    def made(tool: ToolCall | None = None, kind: Kind = Kind.TOOL_USE, **fields: Any) -> Card:
        store.events.accept(new_events(events.make(kind, tool=tool, **fields)))
        with store.readers.read() as db:
            (last,) = db.execute("SELECT MAX(id) FROM pending_messages").fetchone()
            (card,) = cards(db, [Ref("evidence", last)])
        return card

    return made


@pytest.mark.parametrize(
    ("tool", "given", "title"),
    [
        ("Edit", '{"file_path": "/home/a/shop/src/a.py"}', "Edit src/a.py"),
        ("Bash", '{"command": "make  test\\n-j"}', "Bash make test -j"),
        ("Grep", '{"pattern": "x", "path": "/home/a/shop/src"}', "Grep src"),
        ("Task", '{"n": 3}', 'Task {"n": 3}'),
        ("Odd", "not json", "Odd not json"),
        ("Odd", "{}", "Odd {}"),
        ("Odd", None, "Odd"),
    ],
)
def test_a_tool_use_is_called_by_its_tool_and_what_it_was_given(
    evidence: Callable[..., Card], tool: str, given: str | None, title: str
) -> None:
    card = evidence(ToolCall(tool, given, "out", f"t-{title}"), cwd="/home/a/shop")
    assert card.title == title
    assert card.type == tool


def test_input_that_was_cut_in_the_middle_is_read_as_far_as_it_goes(evidence: Callable[..., Card]) -> None:
    card = evidence(
        ToolCall("Write", '{"file_path": "/home/a/shop/b.py", "content": "xx', "", "t"), cwd="/home/a/shop"
    )
    assert (card.title, card.files, card.files_modified) == ("Write b.py", ("b.py",), ("b.py",))


def test_what_was_only_said_is_called_by_the_occasion(evidence: Callable[..., Card]) -> None:
    card = evidence(kind=Kind.STOP, text="All is well.")
    assert card.title == "Last message: All is well."
    assert card.files == ()


def test_a_long_title_is_one_line_and_short(store: SqliteStore, events: Events) -> None:
    store.events.accept(new_events(events.prompt("word \n" * 500)))
    with store.readers.read() as db:
        (card,) = cards(db, [Ref("prompt", 1)])
    assert len(card.title) <= TITLE
    assert card.title.endswith("…")
    assert "\n" not in card.title


@pytest.mark.parametrize(
    ("observation", "title"),
    [
        (Observation("change", None, narrative="It was\nso."), "It was so."),
        (Observation("change", None, facts=("f",)), "A change"),
    ],
)
def test_an_observation_without_a_title_is_called_something(
    store: SqliteStore, events: Events, observation: Observation, title: str
) -> None:
    store.events.accept(new_events(events.prompt("x")))
    lease = store.queue.lease(1)
    assert lease is not None
    store.queue.settle(lease, Findings((observation,), (Summary(completed="done"),)))
    with store.readers.read() as db:
        by_ref = {card.ref: card for card in cards(db, [Ref("observation", 1), Ref("summary", 1)])}
    assert by_ref[Ref("observation", 1)].title == title
    assert by_ref[Ref("summary", 1)].title == "done"
