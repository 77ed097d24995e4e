"""What later sessions are told of the first one's work: at their start, at a prompt, at a file."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from tests.e2e.client import first_session
from tests.e2e.client.first_session import FENCE, told
from tests.harness import workers
from tests.harness.claude import Claude, Playing, Ran, read, texts
from tests.harness.model_script import Request, Say, Step, Use
from tests.harness.model_server import ModelServer

QUESTION = "Why did a parcel of exactly one kilo pay for two?"
UNRELATED = "Draw me an elephant that carries a parcel through the savannah."  # one word is the same
MOST_CHARACTERS = 10_000  # of a hook's output; what is longer the client puts into a file

PRINTED = Use(
    "Bash",
    {"command": f"until grep -oh '{FENCE}.*' ~/.claude/projects/*/*.jsonl; do sleep 0.1; done"},
)
"""What the client wrote down of what it was told: it does so a little later."""


@dataclass(frozen=True)
class Later:
    """A session after the first."""

    claude: Claude
    ran: Ran
    requests: list[Request]

    def injected(self, count: int) -> list[tuple[str, list[str], str | None]]:
        """What is noted of what the session was told. Nobody who is told waits for that, so we do."""
        query = "SELECT event, refs, about FROM injections WHERE claude_session_id = ? ORDER BY id"
        workers.until(lambda: len(self.claude.rows(query, self.ran.session)) >= count, "it is noted")
        found = self.claude.rows(query, self.ran.session)
        return [(event, json.loads(refs), about) for event, refs, about in found]


@pytest.fixture(scope="module")
def house(house: Claude) -> Claude:
    first_session.mended(house)
    return house


def later(claude: Claude, prompt: str, *steps: Step) -> Later:
    with ModelServer(Playing(steps)) as server:
        ran = claude.run(server, prompt)
    assert (ran.code, ran.err) == (0, "")
    claude.settle()
    return Later(claude, ran, server.requests)


@pytest.fixture(scope="module")
def asking(house: Claude) -> Later:
    """One that asks about the first session's work, and prints what it was told."""
    return later(house, QUESTION, Say("", uses=(PRINTED,)), Say("Because it was rounded up twice."))


@pytest.fixture(scope="module")
def elsewhere(house: Claude, asking: Later) -> Later:
    """One that asks for something else, and then reads the file that was mended."""
    del asking  # it comes first
    files = (first_session.FILE, first_session.FILE, "README.md")
    return later(
        house,
        UNRELATED,
        *(Say("", uses=(first_session.reading(house, name),)) for name in files),
        Say("Drawn."),
    )


def test_the_first_request_of_the_next_session_holds_what_the_last_one_did(asking: Later) -> None:
    (start,) = told(asking.ran, "SessionStart")
    assert start.startswith(f"{FENCE}\n")
    assert start.endswith("\n</claude-mem-context>")
    assert f"Asked: {first_session.ASKED}" in start
    assert first_session.refs(start) == ["s1"]
    first = read(asking.requests[0])
    assert first.count(start) == 1
    assert first.count("Memory of parcel, as of") == 1


def test_no_hook_says_more_than_the_client_takes_in(asking: Later, elsewhere: Later) -> None:
    outputs = [line["output"] for each in (asking, elsewhere) for line in each.ran.lines if "output" in line]
    assert any(FENCE in output for output in outputs)
    assert max(map(len, outputs)) < MOST_CHARACTERS


def test_a_prompt_about_the_work_carries_what_is_remembered_of_it(asking: Later) -> None:
    (prompted,) = told(asking.ran, "UserPromptSubmit")
    assert first_session.ASKED in prompted
    assert first_session.SAID.rstrip(".") in prompted
    assert read(asking.requests[0]).count(prompted) == 1


def test_a_prompt_about_something_else_carries_nothing(elsewhere: Later) -> None:
    assert told(elsewhere.ran, "UserPromptSubmit") == []
    assert read(elsewhere.requests[0]).count(FENCE) == 1, "the start's"


def test_a_file_that_was_mended_is_read_with_its_history_once_in_a_session(elsewhere: Later) -> None:
    (history,) = told(elsewhere.ran, "PreToolUse")
    assert f"History of {first_session.FILE}." in history
    assert first_session.refs(history) == ["1"]
    assert first_session.SAID.partition(":")[0] in history
    assert [read(request).count(history) for request in elsewhere.requests] == [0, 1, 1, 1]
    messages = elsewhere.requests[1].body["messages"]
    assert first_session.RIGHT in texts(messages[-2]), "the file, as it was read"
    assert history in texts(messages[-1]), "and with it what is known of it"


def test_what_was_told_is_noted(asking: Later, elsewhere: Later) -> None:
    by_event = {event: (shown, about) for event, shown, about in asking.injected(2)}
    assert by_event == {
        "SessionStart": (["s1", "1"], None),
        "UserPromptSubmit": (["s1"], None),
    }
    (prompted,) = told(asking.ran, "UserPromptSubmit")
    assert first_session.refs(prompted) == ["s1"]
    by_event = {event: (shown, about) for event, shown, about in elsewhere.injected(2)}
    assert by_event.keys() == {"SessionStart", "PreToolUse"}
    assert by_event["PreToolUse"] == (["1"], str(elsewhere.claude.project / first_session.FILE))


def test_what_was_told_is_not_taken_for_something_new(asking: Later) -> None:
    """The client writes down what it was told, and here it even prints it."""
    assert FENCE in str(first_session.results(asking.requests[-1])[PRINTED.id])
    kept = first_session.words_of(asking.claude, asking.ran)
    assert any("grep -oh" in words for words in kept)
    assert not any("Quoted evidence" in words or first_session.SAID in words for words in kept)
    observed = asking.claude.rows(
        "SELECT count(*) FROM observations o JOIN sdk_sessions s ON s.id = o.session_id"
        " WHERE s.claude_session_id = ?",
        asking.ran.session,
    )
    assert observed == [(0,)]
