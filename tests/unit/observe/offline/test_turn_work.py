"""A turn's work is one observation; errands leave none; what came later counts."""

from __future__ import annotations

import pytest
from tests.unit.observe.offline.scripted_session import Acting

REPORT = """The retry loop in queue/pump.py never stops: `decide()` in queue/retry.py returns 0 for a lease.

## Root cause

- `decide()` compares the lease's number with `attempts`, which is reset to 0 in queue/pump.py:88.
- `pump.step()` in queue/pump.py calls it without a pause, 4,000 times a second.
"""


def test_all_that_was_edited_for_one_request_is_one_observation() -> None:
    acted = Acting("add a parser")
    for number in range(12):
        acted.edit(f"src/part{number}/a.py", "+x = 1")
    seen = acted.edit("tests/test_a.py", "+y = 1").stop("Added a parser for user names.").only()
    assert seen.type == "feature"
    assert len(seen.files_modified) == 13
    assert seen.subtitle == "Add a parser"


def test_what_the_request_calls_a_fix_is_a_bugfix() -> None:
    for asked in ("fix the login", "Bitte den Fehler beheben", "исправь вход", "修复登录"):
        acted = (
            Acting(asked).edit("src/a.py", "-    x", "+    y").stop("Die Datei ist jetzt in Ordnung, a.py.")
        )
        assert acted.only().type == "bugfix"


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ("parse_weight('1,5 kg') raises ValueError. Please accept a decimal comma.", "bugfix"),
        ("the build is failing", "bugfix"),
        ("the login page throws when the name is empty", "bugfix"),
        ("the branch is show-hints-if-cmd-fails; its hint goes to a.py", "change"),
    ],
)
def test_work_on_what_the_request_reports_as_broken_is_a_bugfix(asked: str, kind: str) -> None:
    acted = Acting(asked).edit("src/a.py", "-    x", "+    y")
    assert (
        acted.stop("parse_weight now takes a decimal comma as well as a point, in a.py.").only().type == kind
    )


def test_the_agents_reasons_are_the_narrative_and_its_points_the_facts() -> None:
    message = (
        "Fixed the refund page. It rounded twice because `tax()` rounds as well.\n\n"
        "- `refund.py`: sums first, rounds last\n- `tax.py`: returns the exact value"
    )
    seen = Acting("refunds are wrong").edit("refund.py", "+y = 1").stop(message).only()
    assert "It rounded twice because tax() rounds as well." in (seen.narrative or "")
    assert "refund.py: sums first, rounds last" in seen.facts
    assert "changed: refund.py" in seen.facts


def test_a_failed_edit_and_temporary_files_are_nobodys_memory() -> None:
    acted = Acting("x").write("/tmp/scratch.py", "def probe():\n    pass\n")
    acted.tool(
        "Edit", {"file_path": "/home/u/proj/a.py", "old_string": "x", "new_string": "y"}, ""
    ).events.pop()
    assert acted.observations() == ()


@pytest.mark.parametrize("path", ["/tmp/x/scratchpad/analysis.md", "/home/u/.config/tool.toml"])
def test_drafts_and_settings_outside_of_the_project_leave_nothing(path: str) -> None:
    assert (
        Acting("write it").write(path, "# Why\n\nText.\n").stop(f"Wrote it.\n\n{REPORT}").observations() == ()
    )


@pytest.mark.parametrize(
    "asked", ["push", "commit and push", "open a PR for it", "what's the status?", "move the branch to main"]
)
def test_errands_leave_nothing(asked: str) -> None:
    assert Acting(asked).run("git push", "ok").stop(f"Pushed.\n\n{REPORT}").observations() == ()


def test_the_red_half_of_test_first_work_leaves_nothing() -> None:
    failing = "FAILED tests/test_a.py::test_it\n1 failed in 0.1s"
    acted = Acting("test first").edit("tests/test_a.py", "+def test_it():").fail("pytest -q", failing)
    assert acted.stop("Wrote a failing test for the parser.").observations() == ()


def test_a_codex_patch_is_understood_as_edits() -> None:
    patch = (
        "*** Begin Patch\n*** Update File: src/a.py\n@@ def f():\n-    x\n+    y\n*** Delete File: src/b.py\n"
    )
    seen = Acting("tidy the parser").run(patch).only()
    assert seen.files_modified == ("src/a.py", "src/b.py")


def test_windows_paths_are_written_relative_to_the_project() -> None:
    acted = Acting()
    given = {"file_path": "D:\\proj\\src\\a.go", "old_string": "x", "new_string": "y"}
    acted.tool("Edit", given, {"structuredPatch": []}, cwd="D:\\proj\\src")
    acted.stop("The pipe is now opened when the first request comes in.")
    assert acted.only().files_modified == ("src/a.go",)


def test_a_turn_that_only_explored_keeps_what_the_agent_found() -> None:
    seen = Acting("why does it spin?").read("queue/pump.py", "x").stop(REPORT).only()
    assert seen.type == "discovery"
    assert seen.title == "The retry loop in pump.py never stops: decide() in retry.py returns 0"
    assert "queue/retry.py" in seen.files_read
    assert any("4,000 times a second" in text for text in (seen.narrative or "", *seen.facts))


def test_a_word_of_progress_and_a_guess_are_no_discovery() -> None:
    for message in (
        "I'll look at it now.",
        "It is probably the cache. " * 20,
        "Now I have a complete picture.",
    ):
        assert Acting("why?").read("a.py", "x").stop(message).observations() == ()


def test_an_answer_of_the_users_is_a_decision() -> None:
    answers = {"Where should tokens be kept?": "In the keychain"}
    asked = {"questions": [{"question": "Where should tokens be kept?"}]}
    seen = Acting("keep the token").tool("AskUserQuestion", asked, {"answers": answers}).stop("Noted.").only()
    assert seen.type == "decision"
    assert seen.title == "Where should tokens be kept: In the keychain"
    worked = Acting("keep the token").tool("AskUserQuestion", asked, {"answers": answers})
    seen = worked.edit("a.py", "+y = 1").stop("Added the keychain store for tokens.").only()
    assert "The user chose: Where should tokens be kept? → In the keychain" in seen.facts


def test_how_things_are_to_be_done_from_now_on_is_remembered_in_the_users_words() -> None:
    seen = Acting("Never use the git user's name for old sessions.").stop("Understood.").only()
    assert (seen.type, seen.title) == ("decision", "Never use the git user's name for old sessions")


def test_a_stated_choice_with_its_reason_makes_a_trade_off() -> None:
    message = "Added the store of prices. I chose integers over decimals because sums stay exact."
    seen = Acting("keep the prices").edit("a.py", "+y = 1").stop(message).only()
    assert "trade-off" in seen.concepts
    assert "I chose integers over decimals because sums stay exact." in (seen.narrative or "")


def test_a_rule_the_agent_wrote_into_its_memory_is_a_decision() -> None:
    rule = "---\nname: x\ndescription: Never push to main without a review\n---\n\nThe user said so.\n"
    seen = (
        Acting("remember it").write("/home/u/.claude/projects/p/memory/push.md", rule).stop("Saved.").only()
    )
    assert (seen.type, seen.title) == ("decision", "Never push to main without a review")


def test_what_a_later_prompt_of_the_batch_refutes_is_gone() -> None:
    acted = Acting("why does it spin?").read("queue/pump.py", "x").stop(REPORT)
    acted.ask("no, that's wrong, look at the lease").read("queue/lease.py", "x")
    acted.stop(
        REPORT.replace(
            "The retry loop in queue/pump.py never stops",
            "The lease in queue/lease.py is closed twice",
        )
    )
    assert "The lease in queue/lease.py is closed twice" in (acted.only().narrative or "")


@pytest.mark.parametrize("asked", ["no, it still fails", "revert that", "That's not right, the total is off"])
def test_what_a_later_prompt_refutes_is_replaced(asked: str) -> None:
    acted = (
        Acting(asked).edit("shop/price.py", "+y = 1").stop("Fixed the total of the basket in shop/price.py.")
    )
    memory = acted.memory(recorded=("Rounded prices", "Already resolved by the last commit"))
    assert memory.replaces == (
        ("Fixed the total of the basket in shop/price.py", "Already resolved by the last commit"),
    )


def test_a_turn_that_overrules_nothing_replaces_nothing() -> None:
    acted = Acting("add a test").edit("tests/test_a.py", "+y = 1").stop("Added a test of the parser.")
    assert acted.memory(recorded=("Added a parser of user names",)).replaces == ()


def test_two_turns_of_one_title_keep_the_files_of_both() -> None:
    acted = Acting("round the prices").edit("a.py", "+y = 1").stop("Done.")
    acted.ask("round the prices").edit("b.py", "+y = 1").stop("Done.")
    assert acted.only().files_modified == ("a.py", "b.py")


def test_the_second_half_of_a_turn_does_not_take_the_place_of_the_first() -> None:
    half = Acting("round the prices").edit("b.py", "+y = 1").stop("Done.")
    assert half.memory(recorded=("Round the prices",)).replaces == ()


def test_without_a_stop_there_is_no_summary() -> None:
    assert Acting("x").edit("a.py", "+y = 1").memory().summaries == ()


def test_a_bare_yes_or_a_link_is_not_what_a_session_is_called() -> None:
    for asked in ("yes", "https://example.com/issues/7"):
        acted = Acting(asked).edit("a.py", "+y = 1").stop("Added a parser for user names.")
        (told,) = acted.memory().summaries
        assert told.request == "Added a parser for user names"


def test_the_summary_follows_the_messages_own_structure() -> None:
    message = """Added a price cache.

## What changed

- `cache.py` holds prices for an hour

## Next steps

- Warm the cache at start
"""
    acted = (
        Acting("cache the prices")
        .edit("cache.py", "+y = 1")
        .run("pytest -q", "4 passed in 0.2s")
        .stop(message)
    )
    (told,) = acted.memory().summaries
    assert told.request == "cache the prices"
    assert told.completed == "Added a price cache; cache.py holds prices for an hour"
    assert told.next_steps == "Warm the cache at start"
    assert told.notes == "pytest -q: 4 passed"
    assert told.files_edited == ("cache.py",)


def test_headings_are_understood_in_other_languages() -> None:
    message = "Der Cache ist fertig.\n\n## Nächste Schritte\n\n- Den Cache beim Start füllen\n"
    (told,) = Acting("Cache bauen").edit("cache.py", "+y = 1").stop(message).memory().summaries
    assert told.next_steps == "Den Cache beim Start füllen"


def test_what_a_plan_says_of_the_past_is_told_as_the_plans_words() -> None:
    plan = (
        "Implement the following plan:\n\n# Mend the prices\n\n## Context\n\n"
        "All fixes of last week were merged correctly into `prices.py`."
    )
    seen = Acting(plan).edit("prices.py", "+y = 1").stop("Rounded the prices once, in `prices.py`.").only()
    assert (seen.narrative or "").startswith("From the plan: All fixes of last week")
