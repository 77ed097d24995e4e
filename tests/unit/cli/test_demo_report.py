"""The demo does not call itself a success when it saw something wrong."""

import io

from claude_mem.cli import output
from claude_mem.cli.demo.replay import Answered, Recalled, Run
from claude_mem.cli.demo.report import (
    HIDDEN,
    KEPT,
    WIDTH,
    HiddenSearch,
    Report,
    StoredEvent,
    StoredObservation,
    StoredSession,
    StoredSummary,
    context,
    events,
    found,
    history,
    remembered,
    reminder,
)
from claude_mem.model.structs import replace

MEMORY = {"ref": "1", "kind": "observation", "type": "bugfix", "title": "It holds", "files": ["a.py"]}
NOWHERE = dict.fromkeys(HIDDEN.values(), 0)
FINE = Report(
    hooks=[Answered(9.0, 8.0, "Stop", False, 0, {"continue": True, "suppressOutput": True})],
    bare=[Run(8.0, 7.0)],
    drained_after_s=0.1,
    observed_after_s=0.2,
    session=StoredSession("s1", "parcel", "completed", 1),
    events=[],
    observations=[StoredObservation("bugfix", "It holds", "+1 −0", ["a.py"], "offline")],
    summaries=[StoredSummary(1, {"request": "Make it hold", "next_steps": "Ship it"})],
    recalled=Recalled("- It holds", "Go on", "- #1 It holds", "does it hold?", [MEMORY], "a.py", [MEMORY]),
    search=HiddenSearch(3, NOWHERE | {KEPT: 1}, NOWHERE | {KEPT: 2}),
)


PLAIN = output.Paint(io.StringIO())


def test_a_demo_in_which_all_went_well_has_no_problems() -> None:
    assert FINE.problems == []


def test_a_secret_that_is_found_is_a_problem() -> None:
    what, text = next(iter(HIDDEN.items()))
    in_a_file = replace(FINE.search, found=FINE.search.found | {text: 1})
    in_the_index = replace(FINE.search, indexed=FINE.search.indexed | {text: 1})
    for search in (in_a_file, in_the_index):
        assert replace(FINE, search=search).problems == [f"{what} was found"]


def test_a_search_that_finds_nothing_proves_nothing() -> None:
    assert replace(FINE, search=replace(FINE.search, found=FINE.search.found | {KEPT: 0})).problems
    assert replace(FINE, search=replace(FINE.search, indexed=FINE.search.indexed | {KEPT: 0})).problems


def test_a_hook_that_fails_or_says_something_else_is_a_problem() -> None:
    (hook,) = FINE.hooks
    assert replace(FINE, hooks=[replace(hook, code=1)]).problems
    assert replace(FINE, hooks=[replace(hook, answer=None)]).problems


def test_a_demo_that_remembers_nothing_is_a_problem() -> None:
    assert replace(FINE, observations=[]).problems == ["no observations or summaries were stored"]
    assert replace(FINE, summaries=[]).problems == ["no observations or summaries were stored"]


def test_a_demo_that_asked_a_model_is_a_problem() -> None:
    (observation,) = FINE.observations
    assert replace(FINE, observations=[replace(observation, provider="openai:gpt")]).problems


def test_observations_and_the_filled_fields_of_summaries_are_told_in_80_columns() -> None:
    long = replace(
        FINE,
        observations=[StoredObservation("refactor", "t" * 200, "s" * 200, ["f" * 200], "offline")],
        summaries=[StoredSummary(12, {"request": "r" * 200, "notes": "n" * 200})],
    )
    assert max(map(len, remembered(long, PLAIN).splitlines())) == WIDTH
    assert remembered(FINE, PLAIN).splitlines()[2:] == [
        "  bugfix  It holds",
        "          +1 −0",
        "          a.py",
        "",
        "   1  request       Make it hold",
        "      next steps    Ship it",
    ]


def test_of_a_long_turn_the_first_events_are_shown_and_the_others_counted() -> None:
    uses = [StoredEvent(1, "tool_use", "Bash", f"use {number}", False, "done") for number in range(9)]
    turn = [StoredEvent(1, "prompt", None, "Do it", False, "done"), *uses]
    lines = events(replace(FINE, events=turn), PLAIN).splitlines()[2:]
    assert len(lines) == 5
    assert lines[-1] == "      … and 6 more"
    assert len(events(replace(FINE, events=turn[:5]), PLAIN).splitlines()[2:]) == 5


def test_a_demo_whose_next_session_is_told_nothing_or_finds_nothing_is_a_problem() -> None:
    told_nothing = replace(FINE.recalled, context="")
    assert replace(FINE, recalled=told_nothing).problems == ["nothing was injected into the next session"]
    for lost in (replace(FINE.recalled, found=[]), replace(FINE.recalled, history=[])):
        assert replace(FINE, recalled=lost).problems == ["search did not find what was stored"]


def test_a_prompt_that_was_not_kept_waiting_is_not_shown() -> None:
    silent = replace(FINE, recalled=replace(FINE.recalled, reminder=""))
    assert silent.problems == []
    assert reminder(silent) == ""


def test_what_is_recalled_is_introduced_by_a_line_and_told_in_80_columns() -> None:
    words = "- " + "word " * 40
    long = Recalled(words, "p" * 200, words, "q" * 200, [MEMORY | {"title": "t" * 200}], "f" * 200, [MEMORY])
    report = replace(FINE, recalled=long)
    for text in (context(report), reminder(report), found(report, 0, PLAIN), history(report, 0, PLAIN)):
        lines = text.splitlines()
        assert (lines[0] != "", lines[1]) == (True, "")
        assert max(map(len, lines)) <= WIDTH
    assert context(report).splitlines()[2:4] == ["  - word" + " word" * 14, "    word" + " word" * 14]
    assert found(FINE, 0, PLAIN).splitlines()[0] == "Search it: claude-mem search 'does it hold?'"
