"""Where an observation's words come from."""

from __future__ import annotations

import json

import pytest

from claude_mem.model.events import ToolCall
from claude_mem.model.memory import Observation
from claude_mem.model.source import reads_outside, source_of
from claude_mem.model.tools import NAMES, Sort

READ = ToolCall("Read", '{"file_path": "README.md"}', "text")
MADE = ToolCall("Bash", '{"command": "make"}', "ok")


def test_what_changed_a_file_is_work_whatever_was_read() -> None:
    assert source_of(Observation("change", "t", files_modified=("a.py",)), [READ]) == "work"


def test_what_changed_none_is_external_if_anything_was_read() -> None:
    assert source_of(Observation("discovery", "t"), [MADE, READ]) == "external"
    assert source_of(Observation("discovery", "t"), [MADE]) == "work"
    assert source_of(Observation("decision", "t"), []) == "work"


@pytest.mark.parametrize(
    "command",
    [
        "curl https://a.b",
        "cd /x && cat README.md",
        "echo x\ncat y",
        "git clone https://a.b/c",
        "git  show HEAD",
        "/usr/bin/wget -q a",
        'bash -c "curl a"',
        "ls | head",
        "x=$(cat y)",
    ],
)
def test_commands_that_print_what_others_wrote(command: str) -> None:
    assert reads_outside(ToolCall("Bash", json.dumps({"command": command})))


@pytest.mark.parametrize(
    "command", ["make test", "git commit -m 'x'", "concatenate", "npm run category", "ls"]
)
def test_commands_that_do_not(command: str) -> None:
    assert not reads_outside(ToolCall("Bash", json.dumps({"command": command})))


@pytest.mark.parametrize(
    "name", ["Read", "WebFetch", "WebSearch", "Grep", "Glob", "NotebookRead", "mcp__a__b"]
)
def test_tools_that_return_what_others_wrote(name: str) -> None:
    assert reads_outside(ToolCall(name))


@pytest.mark.parametrize("sort", [Sort.READ, Sort.LOOK, Sort.WEB])
def test_whichever_agent_it_is_what_its_readers_return_was_written_by_others(sort: Sort) -> None:
    assert [name for name in NAMES[sort].split() if not reads_outside(ToolCall(name))] == []


@pytest.mark.parametrize("name", ["read_file", "web_fetch", "google_web_search", "view", "codebase_search"])
def test_the_readers_of_other_agents_are_known_by_name(name: str) -> None:
    assert source_of(Observation("discovery", "t"), [ToolCall(name)]) == "external"


@pytest.mark.parametrize(
    "given",
    [
        {"command": "curl https://a.b"},
        {"command": ["bash", "-lc", "curl https://a.b"]},
        {"cmd": "curl https://a.b"},
    ],
)
def test_whichever_agent_it_is_a_command_that_fetches_returns_what_others_wrote(given: object) -> None:
    for name in NAMES[Sort.COMMAND].split():
        assert reads_outside(ToolCall(name, json.dumps(given)))
        assert not reads_outside(ToolCall(name, '{"command": "make test"}'))


def test_what_an_agent_writes_is_its_own() -> None:
    for name in (*NAMES[Sort.EDIT].split(), *NAMES[Sort.WRITE].split()):
        assert not reads_outside(ToolCall(name, '{"content": "curl https://a.b"}'))


def test_a_command_that_was_cut_short_is_read_as_text() -> None:
    assert reads_outside(ToolCall("Bash", '{"command": "curl https://a.b'))
    assert not reads_outside(ToolCall("Edit", '{"command": "curl"}'))
