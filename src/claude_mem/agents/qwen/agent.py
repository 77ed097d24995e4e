"""Qwen Code, as `agents.base` declares an agent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from claude_mem.agents import TITLES, launcher
from claude_mem.agents.base import Agent
from claude_mem.agents.claude_code.events import parse
from claude_mem.agents.file_installer import Part, hook_groups, json_part
from claude_mem.agents.launcher import Machine
from claude_mem.agents.qwen.dialect import EVENTS

NAME = "qwen"
TIMEOUT_MS = 10_000


def home() -> Path:
    return Path.home() / ".qwen"


def hooks(machine: Machine) -> dict[str, Any]:
    return {"hooks": hook_groups(machine, NAME, EVENTS, timeout=TIMEOUT_MS, name=launcher.SERVER)}


def parts(machine: Machine) -> list[Part]:
    server = {key: value for key, value in launcher.mcp_server(machine).items() if key != "type"}
    ours = hooks(machine)["hooks"]
    return [json_part(home() / "settings.json", hooks=ours, servers="mcpServers", server=server)]


AGENT = Agent(NAME, TITLES[NAME], "qwen", home, parse, hooks, parts)
