"""Any agent's tool call, read once: what it is, which file or command it names, what came of it."""

from __future__ import annotations

import json

import pytest

from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.observe import tool_calls
from claude_mem.observe.tool_calls import ToolKind, ToolUse


def use(name: str, given: object, answer: object = "ok", *, kind: Kind = Kind.TOOL_USE) -> ToolUse:
    def text(value: object) -> str:
        return value if isinstance(value, str) else json.dumps(value)

    tool = ToolCall(name, text(given), text(answer), "u")
    call = tool_calls.read(Event(id="1", at=0, kind=kind, session="s", cwd="/repo", tool=tool))
    assert call is not None
    return call


@pytest.mark.parametrize(
    ("given", "command"),
    [
        ({"command": "make test"}, "make test"),
        ({"cmd": "make test"}, "make test"),
        ({"command": ["bash", "-lc", "make test"]}, "make test"),
        ({"command": ["/usr/bin/zsh", "-c", "make test"]}, "make test"),
        ({"command": ["powershell.exe", "-Command", "dir"]}, "dir"),
        ({"command": ["cat", "-n", "README.md"]}, "cat -n README.md"),
        ({"command": ["git", "status"]}, "git status"),
        ("make test", "make test"),
        ({"command": 7}, ""),
        ({}, ""),
    ],
)
def test_a_command_is_what_was_run_however_the_agent_gives_it(given: object, command: str) -> None:
    assert use("shell", given).command == command


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Read", ToolKind.READ),
        ("mcp__files__read_file", ToolKind.READ),
        ("run_shell_command", ToolKind.COMMAND),
        ("apply_patch", ToolKind.EDIT),
        ("TodoWrite", ToolKind.OTHER),
    ],
)
def test_what_a_tool_does_is_known_by_its_name_whichever_agent_has_it(name: str, kind: ToolKind) -> None:
    assert use(name, {}).kind is kind


def test_an_event_without_a_tool_has_no_call_and_a_failed_one_says_so() -> None:
    ((_, nothing),) = tool_calls.read_all([Event(id="1", at=0, kind=Kind.STOP, session="s", text="x")])
    assert nothing is None
    assert use("Edit", {"file_path": "a.py"}, kind=Kind.TOOL_FAILURE).failed
    assert not use("Edit", {"file_path": "a.py"}).failed


def test_what_is_not_json_or_was_cut_is_the_text_as_it_is() -> None:
    cut = use("Bash", '{"command": "make te', "plain text")
    assert (cut.given, cut.answer) == ('{"command": "make te', "plain text")
    assert (dict(cut.fields), dict(cut.answered)) == ({}, {})
    assert cut.command == '{"command": "make te'


def test_the_changed_lines_are_those_of_the_patch_else_of_the_strings() -> None:
    given = {"file_path": "a.py", "old_string": "same\nold\nend", "new_string": "same\nnew\nend"}
    assert use("Edit", given).changed_lines() == "-old\n+new"
    patch = {"structuredPatch": [{"newStart": 7, "lines": [" same", "-a", "+b"]}]}
    assert use("Edit", given, patch).changed_lines() == "@7\n-a\n+b"
    assert list(use("apply_patch", {"input": "*** Update File: src/a.py\n+x"}).written_paths()) == [
        "src/a.py"
    ]
