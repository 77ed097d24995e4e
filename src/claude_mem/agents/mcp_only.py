"""Agents that can only search memory, over MCP: one row each, from their documentation.

Kiro's hooks are configured in the files of its agents, and in some of its modes they do not name the session.
Antigravity's do not report prompts. Zed runs Claude Code and Codex, whose hooks work there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from claude_mem.agents.catalog import Agent
from claude_mem.agents.file_parts import FilePart, server_part
from claude_mem.agents.launcher import Machine

EVENTS: dict[str, str] = {}  # as a dialect has them: no hooks
INJECTION_EVENTS: frozenset[str] = frozenset()


def _under(folder: str) -> Callable[[], Path]:
    return lambda: Path.home() / folder


def _config(folder: str) -> Callable[[], Path]:
    return lambda: Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / folder


def _code() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/Code/User"
    return _config("Code/User")()


def _agent(
    name: str, program: str, home: Callable[[], Path], file: str, section: str = "mcpServers", **more: str
) -> Agent:
    """`file`: below its home. `section`: in which MCP servers are named."""

    def parts(machine: Machine) -> list[FilePart]:
        return [server_part(home() / file, machine, section, **more)]

    return Agent(name, program, home, lambda _: {}, parts)


_ROWS = (
    _agent("vscode", "code", _code, "mcp.json", "servers", type="stdio"),
    _agent("kiro", "kiro-cli", _under(".kiro"), "settings/mcp.json"),
    _agent("antigravity", "agy", _under(".gemini/config"), "mcp_config.json"),
    _agent("amp", "amp", _under(".config/amp"), "settings.json", "amp.mcpServers"),
    _agent("zed", "zed", _config("zed"), "settings.json", "context_servers"),
)
AGENTS = {each.name: each for each in _ROWS}
