"""Declares Cursor as an agent (`agents.catalog`), from its documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from claude_mem.agents.catalog import Agent
from claude_mem.agents.cursor import EVENTS
from claude_mem.agents.file_parts import FilePart, json_part, server_part
from claude_mem.agents.launcher import Machine, hook_line

NAME = "cursor"
TIMEOUT_S = 10


def home() -> Path:
    return Path.home() / ".cursor"


def hooks(machine: Machine) -> dict[str, Any]:
    def entry(event: str) -> dict[str, Any]:
        verb = "context" if event == "sessionStart" else "hook"
        return {"command": hook_line(machine, verb, NAME), "timeout": TIMEOUT_S}

    return {"version": 1, "hooks": {event: [entry(event)] for event in EVENTS}}


def parts(machine: Machine) -> list[FilePart]:
    return [
        json_part(home() / "hooks.json", hooks=hooks(machine)["hooks"], needs={"version": 1}),
        server_part(home() / "mcp.json", machine, type="stdio"),
    ]


AGENT = Agent(NAME, "cursor-agent", home, hooks, parts)
