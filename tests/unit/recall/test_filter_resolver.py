"""What people ask for, as filters."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contracts.store_contract import ORIGIN
from tests.harness.member_records import shared_session
from tests.unit.recall.cards import NOW, card
from tests.unit.recall.recall_store import DAY, ELSEWHERE, House

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.model.errors import InvalidInput
from claude_mem.model.refs import Filters
from claude_mem.recall.filter_resolver import DATE_EXAMPLES, FilterResolver, fits, interval


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
        assert asked.resolver.filters(FilterRequest(client=name)).equal == {"client": name}


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
    for author in ("me", "ada"):
        filters = resolver.filters(FilterRequest(author=author))
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
        ("equal", {"branch": "main"}, {"branch": "dev"}),
        ("session", "session-1", "session"),
        ("equal", {"client": "claude-code"}, {"client": "cursor"}),
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
    assert fits(ONE, Filters(types=("bugfix",), file="src/", equal={"branch": "main"}, until=NOW))
    assert not fits(ONE, Filters(types=("bugfix",), file="src/", equal={"branch": "dev"}, until=NOW))


BERLIN = ZoneInfo("Europe/Berlin")
MONDAY = datetime(2026, 11, 16, 10, 5, tzinfo=BERLIN)  # a Monday
NOW_MS = int(MONDAY.timestamp() * 1000)


def tag_time(word: str) -> int | None:
    return {"v2": 1_700_000_000_000, "v2.1.0": 1_710_000_000_000, "release/Nine": 5}.get(word)


def said(words: str, tz: ZoneInfo = BERLIN) -> tuple[str, str]:
    since, until = interval(words, NOW_MS, tz, tag_time)
    return tuple(datetime.fromtimestamp(at / 1000, tz).strftime("%Y-%m-%d %H:%M") for at in (since, until))  # type: ignore[return-value]


def day(first: str, after: str) -> tuple[str, str]:
    return f"{first} 00:00", f"{after} 00:00"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("today", day("2026-11-16", "2026-11-17")),
        (" Yesterday ", day("2026-11-15", "2026-11-16")),
        ("this week", day("2026-11-16", "2026-11-23")),
        ("last  week", day("2026-11-09", "2026-11-16")),
        ("this month", day("2026-11-01", "2026-12-01")),
        ("last month", day("2026-10-01", "2026-11-01")),
        ("last year", day("2025-01-01", "2026-01-01")),
        ("3 days ago", day("2026-11-13", "2026-11-14")),
        ("a week ago", day("2026-11-09", "2026-11-10")),
        ("9 months ago", day("2026-02-16", "2026-02-17")),
        ("a year ago", day("2025-11-16", "2025-11-17")),
        ("2 hours ago", ("2026-11-16 08:05", "2026-11-16 08:05")),
        ("90 minutes ago", ("2026-11-16 08:35", "2026-11-16 08:35")),
        ("last 2 days", ("2026-11-14 00:00", "2026-11-16 10:05")),
        ("past hour", ("2026-11-16 09:05", "2026-11-16 10:05")),
        ("monday", day("2026-11-16", "2026-11-17")),
        ("last monday", day("2026-11-09", "2026-11-10")),
        ("last friday", day("2026-11-13", "2026-11-14")),
        ("on sunday", day("2026-11-15", "2026-11-16")),
        ("2026-01-31", day("2026-01-31", "2026-02-01")),
        ("2026-01", day("2026-01-01", "2026-02-01")),
        ("2025-12", day("2025-12-01", "2026-01-01")),
        ("2025", day("2025-01-01", "2026-01-01")),
        ("31.1.2026", day("2026-01-31", "2026-02-01")),
        ("march", day("2026-03-01", "2026-04-01")),
        ("in december", day("2025-12-01", "2026-01-01")),
        ("March 2024", day("2024-03-01", "2024-04-01")),
        ("2026-01-31T12:30:00", ("2026-01-31 12:30", "2026-01-31 12:30")),
        ("2026-01-31T12:30:00Z", ("2026-01-31 13:30", "2026-01-31 13:30")),
        ("2026-01-31 12:30", ("2026-01-31 12:30", "2026-01-31 12:30")),
        ("since yesterday", ("2026-11-15 00:00", "2026-11-16 10:05")),
        ("after last week", ("2026-11-16 00:00", "2026-11-16 10:05")),
        ("before 2026-01", ("1970-01-01 01:00", "2026-01-01 00:00")),
        ("since 2027", ("2027-01-01 00:00", "2027-01-01 00:00")),
        ("before 1960", ("1960-01-01 00:00", "1960-01-01 00:00")),
        ("until 2026-01", ("1970-01-01 01:00", "2026-02-01 00:00")),
    ],
)
def test_words_mean_a_stretch_of_the_readers_time(words: str, expected: tuple[str, str]) -> None:
    assert said(words) == expected


def test_a_day_on_which_the_clocks_change_is_as_long_as_it_is() -> None:
    since, until = interval("2026-10-25", NOW_MS, BERLIN)
    assert until - since == 25 * 3_600_000


def test_the_month_before_january_is_in_the_last_year_and_short_months_have_no_31st() -> None:
    january = int(datetime(2026, 1, 31, tzinfo=UTC).timestamp() * 1000)
    since, _ = interval("last month", january, UTC)
    assert datetime.fromtimestamp(since / 1000, UTC).strftime("%Y-%m-%d") == "2025-12-01"
    march = int(datetime(2026, 3, 31, tzinfo=UTC).timestamp() * 1000)
    since, _ = interval("1 month ago", march, UTC)
    assert datetime.fromtimestamp(since / 1000, UTC).strftime("%Y-%m-%d") == "2026-02-28"


def test_a_tag_is_a_moment_and_since_it_is_until_now() -> None:
    assert interval("v2.1.0", NOW_MS, BERLIN, tag_time) == (1_710_000_000_000, 1_710_000_000_000)
    assert interval("since v2", NOW_MS, BERLIN, tag_time) == (1_700_000_000_000, NOW_MS)
    assert interval("release/Nine", NOW_MS, BERLIN, tag_time) == (5, 5), "as it is spelled"


@pytest.mark.parametrize(
    "words",
    [
        *("", "since", "soon", "v3", "2026-13", "2026-02-30", "32.1.2026", "999999999 days ago"),
        *("9999 years ago", "2026-01-31T99:00", "blursday", "last", "9999-12-31", "999999999 hours ago"),
        *("\x00", "0 0 0"),
    ],
)
def test_other_words_are_refused_in_a_sentence_with_examples(words: str) -> None:
    with pytest.raises(ValueError, match="Examples") as refused:
        interval(words, NOW_MS, BERLIN, tag_time)
    assert DATE_EXAMPLES in str(refused.value)
    assert "\n" not in str(refused.value)


@given(
    st.one_of(st.text(), st.from_regex(r"(since |last )?\d{1,9} ?(days|hours|months|years|weeks)?( ago)?"))
)
def test_any_words_are_understood_or_refused(words: str) -> None:
    try:
        since, until = interval(words, NOW_MS, BERLIN, tag_time)
    except ValueError:
        return
    assert since <= until
