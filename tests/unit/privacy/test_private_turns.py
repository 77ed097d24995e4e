"""A marker says which turns are private, and is lost to nobody who clears another's away."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.harness import workers

from claude_mem.hook.stdin import Payload
from claude_mem.privacy import private_turns

MARKS = private_turns.FileMarks()
SESSION = "s-1"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("state", [private_turns.PRIVATE, private_turns.UNNAMED, private_turns.OPEN])
def test_what_is_private_is_not_cleared(state: str) -> None:
    MARKS.note(SESSION, state, "p-1")
    before = MARKS.read(SESSION)
    MARKS.clear(SESSION)
    assert MARKS.read(SESSION) == before is not None


def test_a_command_of_ours_is_cleared_and_what_was_never_marked_is_no_error() -> None:
    MARKS.clear(SESSION)
    MARKS.note(SESSION, private_turns.OURS, "p-1")
    marker = MARKS.read(SESSION)
    assert marker is not None
    assert private_turns.covers(marker, "p-1")
    assert not private_turns.covers(marker, "p-2")
    assert not private_turns.had_private_turns(MARKS, SESSION)
    MARKS.clear(SESSION)
    assert MARKS.read(SESSION) is None


def test_a_mark_made_while_another_is_cleared_away_is_there_afterwards() -> None:
    MARKS.note(SESSION, private_turns.OURS, "p-1")
    fd = os.open(private_turns.path(SESSION), os.O_RDWR)
    fcntl.lockf(fd, fcntl.LOCK_EX)
    note = "from claude_mem.privacy import private_turns as t; t.FileMarks().note('s-1', t.PRIVATE, 'p-2')"
    with subprocess.Popen([sys.executable, "-c", note]) as other:
        workers.until(lambda: _waits(other.pid), "the other one waits for the lock")
        Path(private_turns.path(SESSION)).unlink()
        os.close(fd)
    assert other.returncode == 0
    marker = MARKS.read(SESSION)
    assert marker is not None
    assert marker[0] == private_turns.PRIVATE
    assert private_turns.covers(marker, "p-2")


def _waits(pid: int) -> bool:
    locks = Path("/proc/locks").read_text().splitlines()
    return any("->" in line and str(pid) in line.split() for line in locks)


@pytest.mark.parametrize(
    ("payload", "session"),
    [
        (b'{"session_id":"s-1","cwd":"/p"}', "s-1"),
        (b'{"cwd":"/p","session_id":"s-1"}', None),
        (rb'{"session_id":"\u0073-1"}', None),
        (b'{"session_id":"s-1","tool_input":{"session_id":"s-2"}}', None),
        (b"", None),
    ],
)
def test_a_session_is_known_unread_only_where_nothing_can_be_mistaken(
    payload: bytes, session: str | None
) -> None:
    assert Payload(payload).session == session


@pytest.mark.parametrize(
    "left",
    ["", " . ", "\u200b\u2060", "[Image #1]", "[Image #1] … [Image #12]!", "/review", "/mem:x-1  ", "—"],
)
def test_a_prompt_of_which_no_letter_and_no_digit_is_left_says_nothing(left: str) -> None:
    assert private_turns.is_blank(left)


@pytest.mark.parametrize(
    "left", ["a", "7", "ж", "[Image #1] why", "[Image #x]", "/review the login", "/ review"]
)
def test_a_prompt_with_a_word_left_says_something(left: str) -> None:
    assert not private_turns.is_blank(left)
