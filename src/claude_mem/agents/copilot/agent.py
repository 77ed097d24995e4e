"""Declares GitHub Copilot CLI as an agent (`agents.catalog`)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from claude_mem.agents import launcher
from claude_mem.agents.catalog import Agent
from claude_mem.agents.copilot import OWN_EVENTS
from claude_mem.agents.file_parts import FilePart, own_file, server_part
from claude_mem.agents.launcher import Machine, hook_line
from claude_mem.agents.session_files import Fields, SessionFiles, TranscriptSession

NAME = "copilot"
TIMEOUT_S = 10


def home() -> Path:
    return Path(os.environ.get("COPILOT_HOME") or Path.home() / ".copilot")


def hooks(machine: Machine) -> dict[str, Any]:
    """Its payloads do not name their event: the command does."""

    def entry(event: str) -> dict[str, Any]:
        return {"type": "command", "bash": hook_line(machine, event, NAME), "timeoutSec": TIMEOUT_S}

    return {"version": 1, "hooks": {event: [entry(event)] for event in OWN_EVENTS}}


def parts(machine: Machine) -> list[FilePart]:
    text = json.dumps(hooks(machine), indent=2) + "\n"
    return [
        own_file(home() / "hooks/claude-mem.json", text, data_dir_in=_data_dir_in),
        server_part(home() / "mcp-config.json", machine, type="local", tools=["*"]),
    ]


def _data_dir_in(text: str) -> str | None:
    try:
        return launcher.data_dir_of(json.loads(text)["hooks"]["sessionStart"][0])
    except (ValueError, KeyError, TypeError, IndexError):
        return None


# Reads its session files (events) as the events that its hooks would have sent.


def _read_line(session: TranscriptSession, line: Fields) -> None:
    said = line.get("data") or {}
    match line.get("type"):
        case "session.start" | "session.resume":
            where = said.get("context") or {}
            session.follow(said.get("sessionId"), where.get("cwd"), where.get("branch"))
        case "user.message":
            session.prompt(said["content"])
        case "assistant.message":
            session.say(said.get("content"))
        case "tool.execution_start":
            session.call(said["toolCallId"], said["toolName"], said.get("arguments"))
        case "tool.execution_complete":
            answered = said.get("result") or said.get("error") or {}
            text = answered.get("content", answered.get("message"))
            session.answer(said["toolCallId"], text, failed=said.get("success") is False)


READER = SessionFiles(NAME, lambda: home() / "session-state", "events.jsonl", _read_line)
AGENT = Agent(NAME, "copilot", home, hooks, parts, READER)
