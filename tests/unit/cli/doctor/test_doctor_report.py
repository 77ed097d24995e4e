"""Doctor's screen: the answer first, nothing wider than the screen but what is to be copied."""

import io
import threading
import time
from pathlib import Path

import pytest
from tests.unit.serve import worker_driver

from claude_mem.agents import launcher, settings_file
from claude_mem.agents.claude_code import registration
from claude_mem.cli import output
from claude_mem.cli.doctor import judge, render
from claude_mem.cli.doctor.checks import Finding, judge_connection
from claude_mem.cli.doctor.facts import Connected, Question, Unknown, gather
from claude_mem.hook import worker_link
from claude_mem.settings import Settings
from claude_mem.worker import LOOK_EVERY_S, ConnectionCheck

PLAIN = output.Paint(io.StringIO())


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
    question = worker_link.QUERY % (b"0.1.0", b"UserPromptSubmit", b'{"prompt":"hang"}')
    with worker_driver.started(tmp_path / "data", "--ask-within-s", "0.05") as worker:

        def warned() -> list[Finding]:
            worker.say(question, replies=1)
            found = judge(gather({"CLAUDE_MEM_DATA_DIR": str(worker.data)}))
            return [each for each in found if each.check == "asks"]

        (finding,) = worker_driver.until("a question hangs", warned)
    assert finding.level == "warn"
    assert finding.next


def test_an_answer_is_waited_for() -> None:
    assert Question(lambda: 7).answer(time.monotonic() + 60) == 7


def test_what_never_answers_is_unknown_and_left_behind() -> None:
    never = threading.Event()
    assert Question(never.wait).answer(time.monotonic() + 0.01) == Unknown("no answer in time")
    never.set()


def test_what_fails_is_unknown_with_its_reason() -> None:
    def fail() -> int:
        raise PermissionError(13, "Permission denied")

    answer = Question(fail).answer(time.monotonic() + 60)
    assert isinstance(answer, Unknown)
    assert "Permission denied" in answer.why


def test_an_unconnected_client_is_named_with_the_command_that_connects_it() -> None:
    (finding,) = judge_connection(Connected(()))
    assert (finding.level, finding.next) == ("bad", "claude-mem install")
    assert finding.stops == "no coding agent is connected"


def test_a_connection_of_another_version_or_place_is_to_be_made_anew() -> None:
    old, new = "Claude Code as a plugin (user)", "Codex by hooks.json"
    first, second = judge_connection(Connected((old, new), outdated=(old,)))
    assert (first.level, first.next) == ("warn", "claude-mem repair")
    assert (second.level, second.next) == ("ok", None)


def test_a_connection_is_told_with_how_it_was_made() -> None:
    (finding,) = judge_connection(Connected(("Claude Code by settings (project)",)))
    assert (finding.level, finding.says) == ("ok", "connected: Claude Code by settings (project)")


def test_who_asks_often_is_told_soon_after_and_reads_seldom(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    now = 0.0
    is_connected = ConnectionCheck(Settings(tmp_path / "data"), lambda: now)
    assert not is_connected()
    hooks = settings_file.with_hooks({}, registration.hooks(launcher.this_machine()))
    (tmp_path / "settings.json").write_text(settings_file.written(hooks, ""))
    assert not is_connected()
    now = LOOK_EVERY_S
    assert is_connected()
    (tmp_path / "settings.json").write_text("{ not JSON: claude-mem")  # doctor tells of it
    now += LOOK_EVERY_S
    assert is_connected()
