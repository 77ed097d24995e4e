"""Factory droid, as `agents.catalog` declares an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from claude_mem.agents import launcher
from claude_mem.agents.catalog import Agent
from claude_mem.agents.droid.dialect import EVENTS
from claude_mem.agents.droid.transcripts import READER
from claude_mem.agents.file_installer import FilePart, hook_groups, json_part
from claude_mem.agents.launcher import Machine
from claude_mem.agents.session_tail import words_of

NAME = "droid"
TIMEOUT_S = 10


def home() -> Path:
    return Path.home() / ".factory"


def hooks(machine: Machine) -> dict[str, Any]:
    return {"hooks": hook_groups(machine, NAME, EVENTS, timeout=TIMEOUT_S)}


def parts(machine: Machine) -> list[FilePart]:
    server = launcher.STDIO | launcher.mcp_server(machine)
    return [
        json_part(home() / "settings.json", hooks=hooks(machine)["hooks"]),
        json_part(home() / "mcp.json", servers="mcpServers", server=server),
    ]


AGENT = Agent(NAME, "droid", home, hooks, parts, words_of=words_of(READER, between=1))
