"""The title says what came of a turn, in the agent's own words, within a line of a list."""

from __future__ import annotations

import pytest
from tests.unit.observe.offline.scripted_session import Acting

from claude_mem.observe.offline import request, titles
from claude_mem.observe.offline.sentences import TITLE, shortened


def titled(message: str, asked: str = "round the prices of the shop") -> str:
    return Acting(asked).edit("shop/price.py", "+y = 1").stop(message).only().title or ""


@pytest.mark.parametrize(
    ("message", "title"),
    [
        (
            "Perfect! I've rounded prices in shop/price.py to cents. All tests pass.",
            "Rounded prices in shop/price.py to cents",
        ),
        (
            "All 12 tests pass and lint is clean. Fixed the rounding of refunds.",
            "Fixed the rounding of refunds",
        ),
        ("Done.\n\n**Summary**: Added `round_to_cents()` to the shop.", "Added round_to_cents() to the shop"),
        (
            "Prices are now rounded once, at the end of the sum.",
            "Prices are now rounded once, at the end of the sum",
        ),
        (
            "Updated the price module so that refunds no longer lose a cent.",
            "Refunds no longer lose a cent",
        ),
        (
            "Committed as `abc1234`. Removed the old rounding table, because nobody read it any more "
            "since 2019.",
            "Removed the old rounding table, because nobody read it any more",
        ),
    ],
)
def test_the_sentence_that_says_what_was_done_is_the_title(message: str, title: str) -> None:
    assert titled(message) == title


@pytest.mark.parametrize("message", ["", "Done.", "Perfect! Everything passes.", "Should I commit it?"])
def test_a_message_that_says_nothing_leaves_the_request_as_the_title(message: str) -> None:
    assert titled(message) == "Round the prices of the shop"


def test_a_plan_that_is_carried_out_gives_its_name() -> None:
    plan = "Implement the following plan:\n\n# Plan: Round prices once\n\n## Context\n\n"
    plan += "Refunds lose a cent each time today."
    acted = Acting(plan).edit("shop/price.py", "+y = 1").stop("- Added `a`\n- Changed `b` to c\n- Removed d")
    seen = acted.only()
    assert seen.title == "Round prices once"
    assert "Refunds lose a cent each time today." in (seen.narrative or "")


def test_one_point_of_several_is_not_the_title_of_the_whole() -> None:
    points = "- Added `round()` to a.py\n- Removed the table from b.py\n- Moved `tax()` to c.py"
    assert titled(points) == "Round the prices of the shop"


def test_a_sentence_without_a_subject_gets_it_from_the_request() -> None:
    assert titles.headline("It is only read at start.", "how is the cache of prices read?") == (
        "How is the cache of prices read: it is only read at start"
    )


def test_what_neither_the_agent_nor_the_user_names_is_left_to_the_summary() -> None:
    acted = Acting("yes").edit("src/a.py", *["+y = 1"] * 20).stop("Done.")
    assert acted.observations() == ()
    assert acted.memory().summaries[0].files_edited == ("src/a.py",)


def test_a_place_is_the_last_resort_of_a_turn_that_was_cut_off() -> None:
    cut = Acting("yes").edit("src/a.py", "+y = 1")
    assert cut.only().title == "a.py changed"


@pytest.mark.parametrize(
    ("said", "title"),
    [
        ("`src/a.go` — Added a `round()` helper", "Added a round() helper"),
        (
            "Updated x.ts so `getList` now accepts an optional id and, when provided, only loads what fits.",
            "getList now accepts an optional id",
        ),
        (
            "The implementation is complete. Prices are now rounded by `round()`.",
            "Prices are now rounded by round()",
        ),
        (
            "`Started` in the header of the session panel now uses a dedicated full-date formatter for it.",
            "Started now uses a dedicated full-date formatter for it",
        ),
    ],
)
def test_a_title_ends_where_a_clause_does_and_begins_with_what_was_done(said: str, title: str) -> None:
    assert titled(said) == title


@pytest.mark.parametrize(
    "remark", ["The two namespaces are new, no users yet", "But it fails", "this is the plan of the shop"]
)
def test_a_remark_of_the_user_is_no_title(remark: str) -> None:
    assert titles.requested(remark, least=1) == ""


def test_a_sign_in_a_name_is_part_of_it_and_one_by_itself_is_decoration() -> None:
    assert request.quoted("Tame 鷺 🦩.py. ✅ All of it", 600) == "Tame 鷺 🦩.py. All of it"


@pytest.mark.parametrize("asked", ["yes", "why does it fail?"])
def test_an_edit_of_a_turn_cut_before_its_summary_is_not_lost(asked: str) -> None:
    assert Acting(asked).edit("src/a.py", "+y = 1").only().files_modified == ("src/a.py",)


@pytest.mark.parametrize(
    "text",
    [
        "word " * 40,
        "x" * 300,
        "One clause that is rather long already, and another one that does not fit into it at all, and more",
        "A longer sentence with an aside (which is much too long to fit into the room of a title) and an end",
        "日本語" * 60,
    ],
)
def test_a_long_sentence_is_cut_without_a_mark(text: str) -> None:
    cut = shortened(text, TITLE)
    assert 20 < len(cut) <= TITLE
    assert text.startswith(cut)
    assert not cut.endswith(("…", ",", "(", " "))
    assert cut.count("(") == cut.count(")")


@pytest.mark.parametrize(
    "asked", ["yes", "go ahead", "Yes, please add it.", "https://example.com/a/1", "2", "push", "ok, do it"]
)
def test_what_says_nothing_of_what_is_wanted_names_nothing(asked: str) -> None:
    assert request.condensed(asked, 72) == ""


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("Can you please add a dark mode?", "Add a dark mode"),
        ("ok, let's move the parser to its own file. It is too long.", "Move the parser to its own file"),
        ("parse_user() fails on spaces", "parse_user() fails on spaces"),
    ],
)
def test_a_request_is_condensed_to_what_is_wanted(asked: str, wanted: str) -> None:
    assert request.condensed(asked, 72) == wanted


def test_a_yes_or_no_is_not_put_behind_its_question() -> None:
    told = titles.headline("Yes, for prices that are read at start", "Do I need to run the cache here?")
    assert not told.startswith("Do I need")


def test_never_mind_is_no_rule() -> None:
    assert Acting("never mind, we will look at the cache later").stop("Ok.").memory().observations == ()
