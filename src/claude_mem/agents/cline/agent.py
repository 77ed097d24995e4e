"""Cline CLI, as `agents.catalog` declares an agent. Its hooks are programs, each named after its event."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from claude_mem.agents import launcher
from claude_mem.agents.catalog import Agent
from claude_mem.agents.cline.dialect import EVENTS
from claude_mem.agents.file_changes import read_text
from claude_mem.agents.file_installer import FilePart, data_dir_note, json_part, own_file
from claude_mem.agents.launcher import Machine, hook_line

NAME = "cline"
ENDINGS = (".sh", ".bash", "")
"""It runs every file of an event's name: beside a user's own, ours has another ending."""


def home() -> Path:
    return Path(os.environ.get("CLINE_DIR") or Path.home() / ".cline")


def hooks(machine: Machine) -> dict[str, Any]:
    """By the names of their files."""
    note = data_dir_note(machine)
    return {event: f"#!/bin/sh\n# {note}\n{hook_line(machine, event, NAME)}\n" for event in EVENTS}


def parts(machine: Machine) -> list[FilePart]:
    data = Path(os.environ.get("CLINE_DATA_DIR") or home() / "data")
    server = launcher.mcp_server(machine)
    programs = [own_file(_file(event), text, executable=True) for event, text in hooks(machine).items()]
    servers = data / "settings/cline_mcp_settings.json"
    return [*programs, json_part(servers, servers="mcpServers", server=server)]


def _file(event: str) -> Path:
    files = [home() / f"hooks/{event}{ending}" for ending in ENDINGS]
    ours = (file for file in files if launcher.MARK in (read_text(file) or ""))
    return next(ours, next((file for file in files if not file.exists()), files[0]))


AGENT = Agent(NAME, "cline", home, hooks, parts)
