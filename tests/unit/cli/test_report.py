"""The demo does not call itself a success when it saw something wrong."""

from dataclasses import replace

from claude_mem.cli.demo.hidden import HIDDEN, KEPT, Search
from claude_mem.cli.demo.replay import Answered, Run
from claude_mem.cli.demo.report import Report
from claude_mem.cli.demo.stored import StoredSession

FINE = Report(
    hooks=[Answered(9.0, 8.0, "Stop", False, 0, {"continue": True, "suppressOutput": True})],
    bare=[Run(8.0, 7.0)],
    drained_after_s=0.1,
    session=StoredSession("s1", "parcel", "completed", 1),
    events=[],
    search=Search(3, dict.fromkeys(HIDDEN.values(), 0) | {KEPT: 1}),
)


def test_a_demo_in_which_all_went_well_has_no_problems() -> None:
    assert FINE.problems == []


def test_a_secret_that_is_found_is_a_problem() -> None:
    what, text = next(iter(HIDDEN.items()))
    found = replace(FINE, search=Search(3, FINE.search.found | {text: 1}))
    assert found.problems == [f"{what} was found"]


def test_a_search_that_finds_nothing_proves_nothing() -> None:
    assert replace(FINE, search=Search(3, FINE.search.found | {KEPT: 0})).problems


def test_a_hook_that_fails_or_says_something_else_is_a_problem() -> None:
    (hook,) = FINE.hooks
    assert replace(FINE, hooks=[replace(hook, code=1)]).problems
    assert replace(FINE, hooks=[replace(hook, answer=None)]).problems
