"""Doctor's screen: the answer first, nothing wider than the screen but what is to be copied."""

import io
from pathlib import Path

from tests.unit.serve import driving

from claude_mem.cli import say
from claude_mem.cli.doctor import render
from claude_mem.cli.doctor.finding import Finding
from claude_mem.cli.doctor.gather import gather
from claude_mem.cli.doctor.judge import judge
from claude_mem.hook import worker_link

PLAIN = say.Paint(io.StringIO())


def test_the_first_line_answers_the_question() -> None:
    assert render([Finding("disk", "ok", "fine")], PLAIN, 80).startswith("recording: yes\n")
    full = Finding("disk", "bad", "full", next="make room", stops="the disk is full")
    assert render([full], PLAIN, 80).startswith("recording: no, because the disk is full\n")


def test_the_second_line_says_whether_it_becomes_memory() -> None:
    assert render([Finding("disk", "ok", "fine")], PLAIN, 80).splitlines()[1] == "observing: yes"
    paused = Finding("paused", "bad", "Log in.", hinders="Log in")
    assert render([paused], PLAIN, 80).splitlines()[:2] == [
        "recording: yes",
        "observing: no, because Log in",
    ]


def test_every_finding_is_a_line_with_its_next_step_under_it() -> None:
    screen = render([Finding("worker", "warn", "not running", next="claude-mem worker start")], PLAIN, 80)
    assert screen.splitlines()[3:] == [
        "  warn  worker       not running",
        "                   → claude-mem worker start",
    ]


def test_long_findings_are_wrapped_but_paths_stay_whole() -> None:
    path = "/a/very/long/path" * 6
    screen = render([Finding("directory", "bad", f"{path} cannot be written " + "at all " * 20)], PLAIN, 80)
    assert path in screen
    assert all(len(line) <= 80 for line in screen.splitlines() if path not in line)


def test_questions_that_the_worker_never_answers_are_warned_of(tmp_path: Path) -> None:
    question = worker_link.ASK % (b"0.1.0", b"UserPromptSubmit", b'{"prompt":"hang"}')
    with driving.started(tmp_path / "data", "--ask-within-s", "0.05") as worker:

        def warned() -> list[Finding]:
            worker.say(question, replies=1)
            found = judge(gather({"CLAUDE_MEM_DATA_DIR": str(worker.data)}))
            return [each for each in found if each.check == "asks"]

        (finding,) = driving.until("a question hangs", warned)
    assert finding.level == "warn"
    assert finding.next
