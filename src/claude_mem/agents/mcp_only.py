"""Agents that can only search memory, over MCP: one row each, from their documentation.

Kiro's hooks are configured in the files of its agents, and in some of its modes they do not name the session.
Antigravity's do not report prompts. Zed runs Claude Code and Codex, whose hooks work there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from claude_mem.agents import launcher
from claude_mem.agents.catalog import Agent
from claude_mem.agents.file_parts import FilePart, server_part
from claude_mem.agents.launcher import Machine

EVENTS: dict[str, str] = {}  # as a dialect has them: no hooks
INJECTION_EVENTS: frozenset[str] = frozenset()


class McpAgent(NamedTuple):
    program: str
    home: Callable[[], Path]
    file: str  # below its home
    servers: str  # the section in which MCP servers are named
    more: Mapping[str, Any] = {}


def _under(folder: str) -> Callable[[], Path]:
    return lambda: Path.home() / folder


def _config(folder: str) -> Callable[[], Path]:
    return lambda: Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / folder


def _code() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/Code/User"
    return _config("Code/User")()


ROWS = {
    "vscode": McpAgent("code", _code, "mcp.json", "servers", launcher.STDIO),
    "kiro": McpAgent("kiro-cli", _under(".kiro"), "settings/mcp.json", "mcpServers"),
    "antigravity": McpAgent("agy", _under(".gemini/config"), "mcp_config.json", "mcpServers"),
    "amp": McpAgent("amp", _under(".config/amp"), "settings.json", "amp.mcpServers"),
    "zed": McpAgent("zed", _config("zed"), "settings.json", "context_servers"),
}


def _agent(name: str, row: McpAgent) -> Agent:
    def parts(machine: Machine) -> list[FilePart]:
        return [server_part(row.home() / row.file, machine, row.servers, **row.more)]

    return Agent(name, row.program, row.home, lambda _: {}, parts)


AGENTS = {name: _agent(name, row) for name, row in ROWS.items()}
