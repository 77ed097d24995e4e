"""The demo does not call itself a success when it saw something wrong."""

import io
from typing import Any

import pytest

from claude_mem.cli import output
from claude_mem.cli.demo import ANSWER, HIDDEN, PUBLIC, WIDTH, ProcessRun, Replay, problems, render
from claude_mem.model.structs import replace

MEMORY = {
    "ref": "1",
    "kind": "observation",
    "type": "bugfix",
    "title": "It holds",
    "files": ["a.py"],
    "provider": "offline",
    "created_at_epoch": 1,
}
HOOK = ProcessRun(9.0, 8.0, 0, ANSWER)
SESSION: dict[str, Any] = {
    "session": {"id": "s1", "project": "parcel", "status": "completed", "prompts": 2, "observations": 1},
    "prompts": [MEMORY | {"kind": "prompt", "type": None, "ref": "p1"}],
    "observations": [MEMORY],
    "summaries": [MEMORY | {"kind": "summary", "type": None, "ref": "s1"}],
}
NOWHERE = dict.fromkeys(HIDDEN.values(), 0)
FINE = Replay(
    hooks=[HOOK, replace(HOOK, scrubs=True)],
    baseline=[ProcessRun(8.0, 7.0)],
    drained_after_s=0.1,
    observed_after_s=0.2,
    session=SESSION,
    context="- It holds",
    prompt="Go on",
    reminder="- #1 It holds",
    query="does it hold?",
    results=[MEMORY],
    file="a.py",
    history=[MEMORY],
    files=3,
    found=NOWHERE | {PUBLIC: 1},
)
PLAIN = output.Paint(io.StringIO())


def test_a_demo_in_which_all_went_well_has_no_problems() -> None:
    assert problems(FINE) == []


@pytest.mark.parametrize(
    "different",
    [
        {"found": FINE.found | {next(iter(HIDDEN.values())): 1}},
        {"found": NOWHERE | {PUBLIC: 0}},
        {"hooks": [replace(HOOK, code=1)]},
        {"hooks": [replace(HOOK, answer=None)]},
        {"session": SESSION | {"observations": []}},
        {"session": SESSION | {"summaries": []}},
        {"session": SESSION | {"observations": [MEMORY | {"provider": "openai:gpt"}]}},
        {"context": ""},
        {"results": []},
        {"history": []},
    ],
)
def test_each_thing_that_went_wrong_is_one_problem(different: dict[str, Any]) -> None:
    assert len(problems(replace(FINE, **different))) == 1


def test_a_prompt_that_was_not_kept_waiting_is_not_shown() -> None:
    silent = replace(FINE, reminder="")
    assert problems(silent) == []
    assert "Injected with the prompt" not in render(silent, PLAIN)


def test_what_is_shown_fits_80_columns() -> None:
    words = "- " + "word " * 40
    long = replace(FINE, context=words, prompt="p" * 200, reminder=words, query="q" * 200, file="f" * 200)
    lines = render(replace(long, results=[MEMORY | {"title": "t" * 200}]), PLAIN).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert "  - word" + " word" * 14 in lines
