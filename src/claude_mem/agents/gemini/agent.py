"""Gemini CLI and its forks, as `agents.catalog` declares an agent."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from claude_mem.agents import launcher
from claude_mem.agents.catalog import Agent
from claude_mem.agents.file_installer import FilePart, hook_groups, json_part
from claude_mem.agents.gemini.dialect import EVENTS
from claude_mem.agents.launcher import Machine

TIMEOUT_MS = 10_000


def gemini_agent(name: str, home: Callable[[], Path], events: Iterable[str]) -> Agent:
    """Hooks and servers are in one file of settings."""

    def hooks(machine: Machine) -> dict[str, Any]:
        return {"hooks": hook_groups(machine, name, events, timeout=TIMEOUT_MS, name=launcher.SERVER)}

    def parts(machine: Machine) -> list[FilePart]:
        server = launcher.mcp_server(machine)
        return [json_part(home() / "settings.json", **hooks(machine), servers="mcpServers", server=server)]

    return Agent(name, name, home, hooks, parts)


AGENT = gemini_agent(
    "gemini", lambda: Path(os.environ.get("GEMINI_CLI_HOME") or Path.home()) / ".gemini", EVENTS
)
