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
    data = line.get("data") or {}
    match line.get("type"):
        case "session.start" | "session.resume":
            context = data.get("context") or {}
            session.follow(data.get("sessionId"), context.get("cwd"), context.get("branch"))
        case "user.message":
            session.prompt(data["content"])
        case "assistant.message":
            session.agent_message(data.get("content"))
        case "tool.execution_start":
            session.call(data["toolCallId"], data["toolName"], data.get("arguments"))
        case "tool.execution_complete":
            result = data.get("result") or data.get("error") or {}
            text = result.get("content", result.get("message"))
            session.answer(data["toolCallId"], text, failed=data.get("success") is False)


READER = SessionFiles(NAME, lambda: home() / "session-state", "events.jsonl", _read_line)
AGENT = Agent(NAME, "copilot", home, hooks, parts, READER)
