"""The interactive client in a terminal: what its user does by keys, and what stands on the screen then."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.e2e.client.session_runs import memories
from tests.e2e.client.terminal_client import (
    begin,
    events,
    is_back,
    leave,
    processes,
    prompts,
    said,
    say,
    session,
    shell,
    waits,
)
from tests.harness import workers
from tests.harness.claude import Claude, Playing, read
from tests.harness.model_script import Hang, Say, Step, Use
from tests.harness.model_server import ModelServer
from tests.harness.terminal import Terminal

from claude_mem.hook import paths


def write(claude: Claude, name: str) -> Use:
    return Use("Write", {"file_path": str(claude.project / name), "content": "GRAMS = 1000\n"})


def make(name: str) -> Use:
    return Use("Bash", {"command": f"touch {name} && stat {name}", "description": f"Make {name}"})


def a_turn(claude: Claude) -> tuple[list[str], list[str]]:
    """A whole session in which a tool is permitted. Returns what was said on the screen, and what the shell
    shows afterwards but for the session's id."""
    with session(claude, Say("I make it.", uses=(make("yes.txt"),)), Say("Made.")) as (terminal, _):
        terminal.enter("Make a file.")
        terminal.choose("1. Yes")
        screen = terminal.wait_until(lambda screen: "● Made." in screen and waits(screen), "the answer")
        return said(screen), [line.partition("--resume")[0] for line in leave(terminal).splitlines()]


def settled_and_told(claude: Claude, word: str) -> None:
    """What is remembered is also in what the next session is told: on a busy machine that comes later."""
    claude.settle()
    workers.until(lambda: _tells(claude.data / paths.CONTEXT, word), f"a context tells of {word}")


def _tells(contexts: Path, word: str) -> bool:
    for path in contexts.rglob("*"):
        with suppress(OSError):  # a folder, or just replaced
            if word.encode() in path.read_bytes():
                return True
    return False


def test_a_session_looks_as_it_does_without_us(house: Claude, tmp_path: Path) -> None:
    other = Claude(tmp_path / "other")
    without_us = a_turn(other)
    assert a_turn(house) == without_us
    assert without_us[0][:2] == ["❯ Make a file.", "● I make it."]
    noisy = {"type": "command", "command": "echo '{noise'; echo 'Oh dear.' >&2; exit 1"}
    (other.config / "settings.json").write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [noisy]}]}}))
    assert "  ⎿  SessionStart:startup hook error" in a_turn(other)[0], "noise would be seen"


def test_what_is_remembered_reaches_the_model_and_not_the_screen(house: Claude) -> None:
    steps = [Say("Writing.", uses=(write(house, "scale.py"),)), Say("Scales weigh in grams.")]
    with ModelServer(Playing(steps)) as server:
        house.run(server, "Write the scale.")
    settled_and_told(house, "Write the scale")
    with session(house, Say("In grams.")) as (terminal, server):
        screen = say(terminal, "In what unit?", "In grams.")
    (asked,) = server.requests
    told = read(asked)
    assert "Write the scale" in told[told.index("<claude-mem-context>") : told.index("</claude-mem-context>")]
    assert said(screen) == ["❯ In what unit?", "● In grams."]


def test_a_permitted_tool_is_recorded_once_and_a_denied_one_is_not(house: Claude) -> None:
    yes, no = make("yes.txt"), make("no.txt")
    steps = [Say("First.", uses=(yes,)), Say("Made."), Say("Next.", uses=(no,)), Say("Then not.")]
    with session(house, *steps) as (terminal, _):
        terminal.enter("Make the one.")
        assert "touch yes.txt" in terminal.wait_for("Do you want to proceed?")
        terminal.choose("1. Yes")
        terminal.wait_until(lambda screen: "● Made." in screen and waits(screen), "the answer")
        terminal.enter("Make the other.")
        terminal.choose("4. No")
        terminal.wait_for("Interrupted")
        say(terminal, "Leave it.", "Then not.")
        recorded = events(house, "kind, prompt_number, tool_use_id")
        assert [event for event in recorded if event[0] != "said"] == [
            ("session_start", 0, None),
            ("prompt", 1, None),
            ("tool_use", 1, yes.id),
            ("stop", 1, None),
            ("prompt", 2, None),
            ("prompt", 3, None),
            ("stop", 3, None),
        ]
    assert (house.project / "yes.txt").exists()
    assert not (house.project / "no.txt").exists()


def test_of_an_interrupted_turn_what_was_done_is_kept_and_the_next_prompt_is_a_turn_of_its_own(
    house: Claude,
) -> None:
    look = Use("Read", {"file_path": str(house.project / "README.md")})
    steps: tuple[Step, ...] = (
        Say("I read.", uses=(look,)),
        Hang(after="It is about\nparcels"),
        Say("As you wish."),
    )
    with session(house, *steps) as (terminal, _):
        terminal.enter("Explain at length.")
        terminal.wait_for("● It is about")
        terminal.press("Escape")
        terminal.wait_for("Interrupted")
        say(terminal, "Shorter.", "As you wish.")
        assert events(house, "kind, prompt_number, tool_use_id, text") == [
            ("session_start", 0, None, None),
            ("prompt", 1, None, None),
            ("tool_use", 1, look.id, None),
            ("prompt", 2, None, None),
            ("stop", 2, None, "As you wish."),
        ]
        assert prompts(house) == ["Explain at length.", "Shorter."]


def test_a_prompt_that_was_taken_back_unanswered_and_what_was_sent_instead_are_two(house: Claude) -> None:
    """The client puts such a prompt back where it was typed; nothing says so to a hook."""
    with session(house, Hang(), Say("As you wish.")) as (terminal, server):
        terminal.enter("Explain")
        server.wait_for_request()
        terminal.press("Escape")
        terminal.wait_until(waits, "the prompt, to be changed")
        say(terminal, " briefly.", "As you wish.")
        assert events(house, "kind, prompt_number") == [
            ("session_start", 0),
            ("prompt", 1),
            ("prompt", 2),
            ("stop", 2),
        ]
        assert prompts(house) == ["Explain", "Explain briefly."]


def test_after_a_clear_the_new_session_is_told_of_the_one_before(house: Claude) -> None:
    steps = [Say("I write.", uses=(write(house, "label.py"),)), Say("Written."), Say("A label.")]
    with session(house, *steps) as (terminal, server):
        terminal.enter("Write the label.")
        terminal.choose("1. Yes")
        terminal.wait_until(lambda screen: "● Written." in screen and waits(screen), "the answer")
        settled_and_told(house, "Write the label")
        terminal.enter("/clear")
        terminal.wait_until(lambda screen: "● Written." not in screen and waits(screen), "an empty screen")
        say(terminal, "What was that?", "A label.")
        told = read(server.requests[-1])
        assert "Write the label" not in str(memories(server.requests[0]))
        assert (
            "Write the label"
            in told[told.index("<claude-mem-context>") : told.index("</claude-mem-context>")]
        )
        assert [message["role"] for message in server.requests[-1].body["messages"]].count("user") == 1
        recorded = events(house, "dense_rank() OVER (ORDER BY session_id), kind, note", 2)
        assert [event for event in recorded if event[1] != "said"] == [
            (1, "session_start", "startup"),
            (1, "prompt", None),
            (1, "tool_use", None),
            (1, "stop", None),
            (1, "session_end", "clear"),
            (2, "session_start", "clear"),
            (2, "prompt", None),
            (2, "stop", None),
        ]


def twice(key: str) -> Callable[[Terminal], None]:
    def leave(terminal: Terminal) -> None:
        terminal.press(key)
        terminal.wait_for("again to exit")
        terminal.press(key)

    return leave


LEAVING = {"/exit": lambda terminal: terminal.enter("/exit"), "Ctrl-C": twice("C-c"), "Ctrl-D": twice("C-d")}


@pytest.mark.parametrize("way", LEAVING)
def test_when_the_shell_is_back_the_end_is_recorded_and_nothing_runs_but_the_worker(
    house: Claude, way: str
) -> None:
    with shell(house, Say("Hello.")) as (terminal, _):
        before = processes(house)
        begin(terminal)
        say(terminal, "Hi.", "Hello.")
        assert processes(house) > before
        LEAVING[way](terminal)
        screen = terminal.wait_until(is_back, "the shell")
        assert events(house, "kind, note")[-1] == ("session_end", "prompt_input_exit")
        workers.until(lambda: processes(house) == before, "only the worker is left")
        assert "claude-mem" not in screen
        assert "hook" not in screen
    assert len(workers.processes(house.data)) == 1


@pytest.mark.parametrize("answer", [Say("Hello."), Hang(after="Hello.\nI")], ids=["at rest", "in mid-answer"])
def test_a_window_that_is_closed_ends_the_session(house: Claude, answer: Step) -> None:
    with session(house, answer) as (terminal, _):
        terminal.enter("Hi.")
        terminal.wait_for("● Hello.")
        if isinstance(answer, Say):
            terminal.wait_until(waits, "the prompt")
        terminal.close()
        workers.until(lambda: not processes(house), "only the worker is left")
        stopped = [("stop", None)] if isinstance(answer, Say) else []
        assert events(house, "kind, note") == [
            ("session_start", "startup"),
            ("prompt", None),
            *stopped,
            ("session_end", "other"),
        ]


def test_what_went_wrong_is_on_the_screen_once_at_the_start(house: Claude) -> None:
    workers.finish(house.data)
    blocked = house.data / "spool"
    shutil.rmtree(blocked, ignore_errors=True)
    blocked.write_text("a file where a directory should be")
    with shell(house, Say("Hello.")) as (terminal, server):
        begin(terminal)
        terminal.wait_for("claude-mem is not recording: the data directory is not writable")
        first = say(terminal, "Hi.", "Hello.")
        leave(terminal)
        blocked.unlink()
        begin(terminal)
        terminal.wait_for("claude-mem could not save 3 events: the data directory was not writable.")
        second = say(terminal, "Hi again.", "Hello.")
        leave(terminal)
        begin(terminal)
        third = say(terminal, "Once more.", "Hello.")
    assert [screen.count("Run: claude-mem") for screen in (first, second, third)] == [1, 1, 0]
    assert said(third) == ["❯ Once more.", "● Hello."]
    assert not any("Run: claude-mem" in read(request) for request in server.requests), "for the user only"


def test_mem_pauses_and_resumes_a_session_and_the_status_line_tells(house: Claude) -> None:
    house.connect("--statusline")
    steps = [Say(answer) for answer in ("Hello.", "A secret.", "No secret.")]
    with session(house, *steps) as (terminal, server):
        say(terminal, "Hi.", "Hello.")
        terminal.wait_for("mem ●")
        house.settle()  # the worker that "Hi." woke may still be starting
        terminal.enter("/mem off")
        terminal.wait_for("Paused for one session")
        say(terminal, "Between us.", "A secret.")
        terminal.wait_for("mem ○ off for this session")  # the client draws it anew with a turn
        terminal.enter("/mem on")
        terminal.wait_for("Recording the session again.")
        assert len(server.requests) == 2, "no model was asked for it"
        terminal.resize(60, 50)
        screen = say(terminal, "For the record.", "No secret.")
        terminal.wait_for("mem ●")
        assert said(screen)[-2:] == ["❯ For the record.", "● No secret."]
        assert ("stop", "No secret.") in events(house, "kind, text")
        assert prompts(house) == ["Hi.", "For the record."]
    house.settle()
    workers.finish(house.data)
    everything = b"".join(content for _, content in house.bytes_of_the_data_directory())
    assert b"For the record." in everything
    assert b"Between us." not in everything
    assert b"A secret." not in everything
