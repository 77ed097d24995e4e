"""Codex CLI, as `agents.catalog` declares an agent."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from claude_mem.agents.catalog import Agent
from claude_mem.agents.codex.dialect import EVENTS
from claude_mem.agents.codex.transcripts import READER
from claude_mem.agents.file_installer import FilePart, hook_groups, json_part, toml_server
from claude_mem.agents.launcher import Machine
from claude_mem.agents.session_tail import words_of

NAME = "codex"
TIMEOUT_S = 10


def home() -> Path:
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")


def hooks(machine: Machine) -> dict[str, Any]:
    return {"hooks": hook_groups(machine, NAME, EVENTS, timeout=TIMEOUT_S)}


def parts(machine: Machine) -> list[FilePart]:
    return [
        json_part(home() / "hooks.json", hooks=hooks(machine)["hooks"]),
        toml_server(home() / "config.toml", machine),
    ]


AGENT = Agent(
    NAME,
    "codex",
    home,
    hooks,
    parts,
    needs="Codex runs new hooks only after you trust them: start codex and type /hooks.",
    words_of=words_of(READER, between=3),  # by year, month and day
)
