"""Declares Windsurf as an agent (`agents.catalog`), from its documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from claude_mem.agents.catalog import Agent
from claude_mem.agents.file_parts import FilePart, json_part, server_part
from claude_mem.agents.launcher import Machine, hook_line
from claude_mem.agents.windsurf import EVENTS

NAME = "windsurf"


def home() -> Path:
    return Path.home() / ".codeium/windsurf"


def hooks(machine: Machine) -> dict[str, Any]:
    """Its payloads name their event by a key of their own: here the command does."""
    return {"hooks": {event: [{"command": hook_line(machine, event, NAME)}] for event in EVENTS}}


def parts(machine: Machine) -> list[FilePart]:
    return [
        json_part(home() / "hooks.json", **hooks(machine)),
        server_part(home() / "mcp_config.json", machine),
    ]


AGENT = Agent(NAME, "windsurf", home, hooks, parts)
