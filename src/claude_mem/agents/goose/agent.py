"""Declares Goose as an agent (`agents.catalog`), from its documentation. We install a plugin for it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from claude_mem.agents import launcher, settings_file
from claude_mem.agents.catalog import Agent
from claude_mem.agents.file_parts import FilePart, json_part, server_part
from claude_mem.agents.goose import EVENTS
from claude_mem.agents.launcher import Machine, hook_line

NAME = "goose"
TIMEOUT_S = 10
MANIFEST = {
    "name": launcher.SERVER,
    "version": "1.0.0",
    "description": "Records sessions and searches their memory.",
}


def home() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "goose"


def plugin() -> Path:
    return Path.home() / ".agents/plugins" / launcher.SERVER


def hooks(machine: Machine) -> dict[str, Any]:
    """Its payloads name their event by a key of their own: here the command does."""

    def entry(event: str) -> dict[str, Any]:
        return {"type": "command", "command": hook_line(machine, event, NAME), "timeout": TIMEOUT_S}

    return {"hooks": {event: [{"hooks": [entry(event)]}] for event in EVENTS}}


def parts(machine: Machine) -> list[FilePart]:
    return [
        json_part(plugin() / "hooks/hooks.json", **hooks(machine)),
        server_part(plugin() / ".mcp.json", machine),
        _manifest(plugin() / "plugin.json"),
    ]


def _manifest(path: Path) -> FilePart:
    def with_us(text: str) -> str:
        return text if text.strip() else json.dumps(MANIFEST, indent=2) + "\n"

    def without_us(text: str) -> str | None:
        found = settings_file.parsed(text, str(path), strict=False)
        left = {key: value for key, value in found.items() if MANIFEST.get(key) != value}
        return settings_file.written(left, text) if left else None

    return FilePart(path, with_us, without_us, lambda _: None)


AGENT = Agent(NAME, "goose", home, hooks, parts)
