"""What came of a command before, told before it is run again; and when nothing is said."""

from __future__ import annotations

import json

import pytest
from tests.contracts.store_contract import HOUR, NOON, Events, new_events
from tests.unit.recall.remembering import DAY, ELSEWHERE, House

from claude_mem.model.events import Kind, Origin, ToolCall
from claude_mem.model.memory import Observation
from claude_mem.model.structs import replace
from claude_mem.recall import command_history
from claude_mem.recall.fence import fenced
from claude_mem.recall.inject import Injector

CWD = "/home/a/shop"
COMMAND = "npm run build --workspace heron"
ERROR = "Exit code 1\n> heron@1.0 build\nError: Cannot find module 'wingspan' (line 12)\n    at Object"


class Shell:
    """Runs of commands, as hooks report them."""

    def __init__(self, memory: House) -> None:
        self.memory, self.events, self._uses = memory, Events(), 0

    def ran(
        self,
        session: str,
        error: str | None = None,
        *,
        command: str = COMMAND,
        at: int = NOON,
        origin: Origin | None = None,
    ) -> None:
        self._uses += 1
        given = json.dumps({"command": command, "description": "Build it"})
        call = ToolCall("Bash", given, error or json.dumps({"stdout": "ok"}), f"toolu_{session}_{self._uses}")
        kind = Kind.TOOL_FAILURE if error else Kind.TOOL_USE
        event = self.events.make(kind, session, tool=call, at=at, cwd=CWD, id=f"{session}-{self._uses}")
        place = {"origin": origin} if origin else {}
        self.memory.store.events.accept(new_events(event, **place))

    def before(self, session: str = "now", command: str = COMMAND, injector: Injector | None = None) -> str:
        self.memory.indexing.catch_up()
        payload = {"session_id": session, "cwd": CWD, "tool_name": "Bash", "command": command}
        asked = injector or self.memory.injector
        return asked.answer({"event": "PreToolUse", "payload": payload})


@pytest.fixture
def shell(memory: House) -> Shell:
    memory.clock.now = NOON + DAY
    return Shell(memory)


def test_a_command_that_failed_twice_in_the_same_way_is_told_with_its_error(shell: Shell) -> None:
    shell.ran("first", ERROR)
    assert shell.before() == "", "once may be chance"
    shell.ran("second", ERROR.replace("12", "40"), at=NOON + HOUR)
    told = shell.before()
    assert told.startswith(fenced("x").splitlines()[0])
    assert "failed 2 times" in told
    assert "Cannot find module 'wingspan'" in told
    assert "has not succeeded" in told
    assert len(told) < 1_000


def test_what_was_observed_when_it_passed_again_is_told_as_what_helped(shell: Shell) -> None:
    for number in range(2):
        shell.ran("first", ERROR, at=NOON + number)
    shell.ran("first", at=NOON + HOUR)
    fix = Observation("bugfix", "wingspan is listed in the heron workspace's package.json")
    shell.memory.turn("mend it", session="first", observed=[fix], at=NOON + 2 * HOUR)
    told = shell.before()
    assert "succeeded afterwards" in told
    assert "wingspan is listed" in told


def test_it_is_told_once_for_a_session(shell: Shell) -> None:
    for session in ("first", "second"):
        shell.ran(session, ERROR)
    assert shell.before()
    assert shell.before() == ""
    assert shell.before("another") != ""


@pytest.mark.parametrize("session", ["now", "first"])
def test_what_a_session_saw_itself_it_is_not_told(shell: Shell, session: str) -> None:
    for _ in range(2):
        shell.ran(session, ERROR)
    assert shell.before(session) == ""


def test_nothing_is_said_where_nothing_is_clear(shell: Shell) -> None:
    for session in ("first", "second"):
        shell.ran(session, ERROR)
    assert shell.before(command="npm run build --workspace stork") == "", "another command"
    assert shell.before(command=f"{COMMAND} --force") == ""
    for session, error in (("first", "Error: a is missing"), ("second", "Error: b is missing")):
        shell.ran(session, error, command="make errors differ")
    assert shell.before(command="make errors differ") == ""
    for session in ("first", "second"):
        shell.ran(session, "Exit code 1", command="grep -q heron nests.txt")
    assert shell.before(command="grep -q heron nests.txt") == "", "no line says what is wrong"
    for _ in range(command_history.PASSED_SINCE):
        shell.ran("third", at=NOON + HOUR)
    assert shell.before() == "", "it is over"


def test_other_projects_and_long_ago_do_not_count(shell: Shell) -> None:
    for session in ("there-1", "there-2"):
        shell.ran(session, ERROR, origin=ELSEWHERE)
    for session in ("old-1", "old-2"):
        shell.ran(session, ERROR, at=NOON - 100 * DAY)
    shell.ran("here", at=NOON - 99 * DAY)
    assert shell.before() == ""


def test_it_can_be_switched_off(shell: Shell) -> None:
    for session in ("first", "second"):
        shell.ran(session, ERROR)
    assert shell.before(injector=replace(shell.memory.injector, command_hints=False)) == ""
    assert shell.before() != ""
