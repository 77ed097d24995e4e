"""Gemini CLI, as `agents.base` declares an agent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from claude_mem.agents import TITLES, launcher
from claude_mem.agents.base import Agent
from claude_mem.agents.claude_code.events import parse
from claude_mem.agents.file_installer import Part, hook_groups, json_part
from claude_mem.agents.gemini.dialect import EVENTS
from claude_mem.agents.launcher import Machine

NAME = "gemini"
TIMEOUT_MS = 10_000


def home() -> Path:
    return Path(os.environ.get("GEMINI_CLI_HOME") or Path.home()) / ".gemini"


def hooks(machine: Machine) -> dict[str, Any]:
    return {"hooks": hook_groups(machine, NAME, EVENTS, timeout=TIMEOUT_MS, name=launcher.SERVER)}


def parts(machine: Machine) -> list[Part]:
    server = {key: value for key, value in launcher.mcp_server(machine).items() if key != "type"}
    ours = hooks(machine)["hooks"]
    return [json_part(home() / "settings.json", hooks=ours, servers="mcpServers", server=server)]


AGENT = Agent(NAME, TITLES[NAME], "gemini", home, parse, hooks, parts)
