"""What people ask for, as filters."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest
from tests.contracts.store_contract import ORIGIN
from tests.harness.member_records import shared_session
from tests.unit.recall.cards import NOW, card
from tests.unit.recall.remembering import DAY, ELSEWHERE, House

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.model.errors import InvalidInput
from claude_mem.model.refs import Filters
from claude_mem.recall.filter_resolver import FilterResolver, fits


@pytest.fixture
def asked(memory: House) -> House:
    memory.keep("one")
    memory.keep("two", origin=ELSEWHERE, session="m")
    return memory


@pytest.mark.parametrize(
    "wanted",
    [FilterRequest(project="shop"), FilterRequest(project=ORIGIN.key), FilterRequest(cwd="/home/a/shop/src")],
    ids=["by name", "by key", "by directory"],
)
def test_a_project_goes_by_several_names(asked: House, wanted: FilterRequest) -> None:
    assert asked.resolver.filters(wanted).project_id == asked.project().id


def test_a_directory_nothing_is_remembered_of_finds_nothing_rather_than_everything(asked: House) -> None:
    answer = asked.reading.search("one", FilterRequest(cwd="/home/a/new"), Page())
    assert answer.results == []


def test_dates_are_given_in_words(asked: House) -> None:
    filters = asked.resolver.filters(FilterRequest(since="yesterday", until="yesterday"))
    assert filters.since is not None
    assert filters.until is not None
    assert filters.until - filters.since == DAY
    assert filters.since < asked.clock() - DAY < filters.until


@pytest.mark.parametrize(
    ("wanted", "field", "said"),
    [
        (FilterRequest(project="nope"), "project", "nope"),
        (FilterRequest(since="when pigs fly"), "since", "when pigs fly"),
        (FilterRequest(client="nosuch"), "client", "codex"),
    ],
)
def test_what_cannot_be_meant_is_said_in_a_sentence_that_names_the_field(
    asked: House, wanted: FilterRequest, field: str, said: str
) -> None:
    with pytest.raises(InvalidInput) as error:
        asked.resolver.filters(wanted)
    assert error.value.field == field
    assert said in str(error.value)


def test_a_client_is_an_agent_or_any_program_that_reported_a_session(asked: House) -> None:
    asked.keep("three", session="x", client="my-tool")
    for name in ("codex", "my-tool"):
        assert asked.resolver.filters(FilterRequest(client=name)).client == name


# Filters, each alone.


ONE = card(
    7,
    concepts=("parsing", "dates"),
    files=("src/a.py",),
    branch="main",
    client="claude-code",
    superseded_by=9,
)


def test_an_author_is_a_member_whose_memory_is_here_or_oneself(asked: House) -> None:
    shared = shared_session("adas", ORIGIN, "three", at=asked.clock())
    asked.store.transfer.absorb(shared, own=False, author="ada")

    def found(author: str) -> set[str]:
        answer = asked.reading.search("", FilterRequest(author=author), Page())
        return {result.title for result in answer.results}

    assert (found("ada"), found("me"), found("")) == ({"three"}, {"one", "two"}, {"one", "two", "three"})
    with pytest.raises(InvalidInput) as error:
        found("eve")
    assert error.value.field == "author"
    assert "ada" in str(error.value)


def test_ones_own_memory_from_another_machine_is_ones_own(asked: House) -> None:
    shared = shared_session("laptops", ORIGIN, "three", at=asked.clock())
    asked.store.transfer.absorb(shared, own=False, author="ada")
    resolver = FilterResolver(
        store=asked.store,
        clock=asked.clock,
        zone=lambda: UTC,
        key_of=lambda _: "",
        facts_of=lambda _: None,
        member=lambda: "ada",
    )
    for given in ("me", "ada"):
        filters = resolver.filters(FilterRequest(author=given))
        titles = {each.title for each in asked.library.list_cards(filters, limit=9)}
        assert titles == {"one", "two", "three"}


def test_no_filter_keeps_everything() -> None:
    assert fits(ONE, Filters())


@pytest.mark.parametrize(
    ("name", "kept", "left_out"),
    [
        ("project_id", 1, 2),
        ("kinds", ("summary", "observation"), ("summary",)),
        ("types", ("bugfix",), ("feature", "decision")),
        ("concepts", ("dates", "x"), ("x",)),
        ("file", "a.py", "b.py"),
        ("branch", "main", "dev"),
        ("session", "session-1", "session"),
        ("client", "claude-code", "cursor"),
        ("authors", ("", "ada"), ("ada",)),
        ("since", ONE.created_at, ONE.created_at + 1),
        ("until", ONE.created_at + 1, ONE.created_at),
        ("superseded", True, False),
    ],
)
def test_each_filter_keeps_its_own(name: str, kept: Any, left_out: Any) -> None:
    assert fits(ONE, Filters(**{name: kept}))
    assert not fits(ONE, Filters(**{name: left_out}))


def test_all_that_is_asked_for_must_hold() -> None:
    assert fits(ONE, Filters(types=("bugfix",), file="src/", branch="main", until=NOW))
    assert not fits(ONE, Filters(types=("bugfix",), file="src/", branch="dev", until=NOW))
