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
    call = tool_calls.parse(Event(id="1", at=0, kind=kind, session="s", cwd="/repo", tool=tool))
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
    ((_, nothing),) = tool_calls.parse_all([Event(id="1", at=0, kind=Kind.STOP, session="s", text="x")])
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


PATCH = "*** Begin Patch\n*** Update File: /ws/a.ts\n@@\n-x\n+y\n*** End Patch"
READ, LOOK, EDIT = ToolKind.READ, ToolKind.LOOK, ToolKind.EDIT
WRITE, COMMAND, WEB, OTHER = ToolKind.WRITE, ToolKind.COMMAND, ToolKind.WEB, ToolKind.OTHER
REPLACED = {"old_str": "x", "new_str": "y"}

SHAPES: dict[str, list[tuple[str, object, ToolKind, str]]] = {
    "the newest document": [("FileSave", {"path": "/ws/a.ts"}, EDIT, "/ws/a.ts")],
    "Codex": [
        ("Bash", {"command": "echo one"}, COMMAND, ""),
        ("shell", {"command": ["bash", "-lc", "make test"]}, COMMAND, ""),
        ("exec_command", {"cmd": "make test"}, COMMAND, ""),
        ("apply_patch", {"input": PATCH}, EDIT, "/ws/a.ts"),
        ("apply_patch", {"command": PATCH}, EDIT, "/ws/a.ts"),
        ("shell", {"command": ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}\nEOF"]}, EDIT, "/ws/a.ts"),
    ],
    "Copilot": [
        ("bash", {"command": "make test", "description": "Test"}, COMMAND, ""),
        ("view", {"path": "/ws/a.ts"}, READ, ""),
        ("create", {"path": "/ws/a.ts", "file_text": "y"}, WRITE, "/ws/a.ts"),
        ("edit", {"path": "/ws/a.ts", **REPLACED}, EDIT, "/ws/a.ts"),
        ("str_replace", {"path": "/ws/a.ts", **REPLACED}, EDIT, "/ws/a.ts"),
        ("str_replace_editor", {"command": "view", "path": "/ws/a.ts"}, READ, ""),
        ("str_replace_editor", {"command": "str_replace", "path": "/ws/a.ts", **REPLACED}, EDIT, "/ws/a.ts"),
        ("grep", {"pattern": "x", "path": "/ws"}, LOOK, ""),
    ],
    "Gemini": [
        ("run_shell_command", {"command": "echo one"}, COMMAND, ""),
        ("read_file", {"absolute_path": "/ws/a.ts"}, READ, ""),
        ("write_file", {"file_path": "/ws/a.ts", "content": "y"}, WRITE, "/ws/a.ts"),
        ("replace", {"file_path": "/ws/a.ts", "old_string": "x", "new_string": "y"}, EDIT, "/ws/a.ts"),
        ("search_file_content", {"pattern": "x"}, LOOK, ""),
        ("google_web_search", {"query": "x"}, WEB, ""),
    ],
    "OpenCode": [
        ("write", {"filePath": "/ws/a.ts", "content": "y"}, WRITE, "/ws/a.ts"),
        ("edit", {"filePath": "/ws/a.ts", "oldString": "x", "newString": "y"}, EDIT, "/ws/a.ts"),
        ("patch", {"patchText": PATCH}, EDIT, "/ws/a.ts"),
        ("read", {"filePath": "/ws/a.ts"}, READ, ""),
        ("webfetch", {"url": "https://example.org/a.ts"}, WEB, ""),
    ],
    "Qwen": [
        ("edit", {"file_path": "/ws/a.ts", "old_string": "x", "new_string": "y"}, EDIT, "/ws/a.ts"),
        ("todo_write", {"todos": []}, OTHER, ""),
    ],
    "droid": [
        ("Execute", {"command": "make test"}, COMMAND, ""),
        ("Create", {"file_path": "/ws/a.ts", "content": "y"}, WRITE, "/ws/a.ts"),
        ("ApplyPatch", {"input": PATCH}, EDIT, "/ws/a.ts"),
        ("LS", {"directory_path": "/ws"}, LOOK, ""),
        ("FetchUrl", {"url": "https://example.org"}, WEB, ""),
    ],
    "Cline": [
        ("execute_command", {"command": "make test", "requires_approval": False}, COMMAND, ""),
        ("run_commands", {"commands": ["make lint", "make test"]}, COMMAND, ""),
        ("write_to_file", {"path": "/ws/a.ts", "content": "y"}, WRITE, "/ws/a.ts"),
        ("replace_in_file", {"path": "/ws/a.ts", "diff": "…"}, EDIT, "/ws/a.ts"),
        ("search_files", {"path": "/ws", "regex": "x"}, LOOK, ""),
    ],
    "names that nobody has told us of": [
        ("modifyDocument", {"uri": "file:///ws/a%20b.ts"}, EDIT, "/ws/a b.ts"),
        ("put_text", {"filename": "/ws/a.ts", "content": "y"}, WRITE, "/ws/a.ts"),
        ("swap", {"path": "/ws/a.ts", **REPLACED}, EDIT, "/ws/a.ts"),
        ("FileOpen", {"path": "/ws/a.ts"}, READ, ""),
        ("terminal", {"command": "make test"}, COMMAND, ""),
        ("browse", {"url": "https://example.org"}, WEB, ""),
        ("ponder", {"thought": "hm"}, OTHER, ""),
        ("update_todos", {"path": "/ws/a.ts"}, OTHER, ""),
        ("mcp__forge__create_or_update_file", {"path": "a.ts", "content": "y"}, OTHER, ""),
    ],
}


@pytest.mark.parametrize("agent", SHAPES)
def test_what_a_tool_did_is_understood_by_its_name_or_its_shape(agent: str) -> None:
    for name, given, kind, written in SHAPES[agent]:
        call = use(name, given)
        assert (name, call.kind) == (name, kind)
        assert (name, list(call.written_paths())) == (name, [written] if written else [])


def test_the_command_of_a_text_editor_is_no_shells() -> None:
    assert use("str_replace_based_edit_tool", {"command": "view", "path": "/ws/a.ts"}).command == ""
    assert use("shell", {"command": "view", "timeout": 5}).command == "view"
    assert use("run_commands", {"commands": ["make lint", "make test"]}).command == "make lint\nmake test"


@pytest.mark.parametrize(
    "answer",
    [
        {"is_error": True, "content": "no such file"},
        {"success": False},
        {"result_type": "failure", "text_result_for_llm": "no such file"},
        {"resultType": "denied"},
    ],
)
def test_a_call_that_says_that_it_failed_has(answer: object) -> None:
    assert use("edit", {"path": "/ws/a.ts"}, answer).failed
    done = use("edit", {"path": "/ws/a.ts"}, {"resultType": "success", "textResultForLlm": "Done."})
    assert (done.failed, done.text()) == (False, "Done.")


def test_all_files_of_a_list_were_read() -> None:
    assert list(use("read_files", {"paths": ["/ws/a.ts", "/ws/*.md"]}).read_paths()) == ["/ws/a.ts"]
    assert list(use("read_files", {"files": [{"path": "/ws/a.ts"}]}).read_paths()) == ["/ws/a.ts"]
