"""Declares Factory droid as an agent (`agents.catalog`)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from claude_mem.agents.catalog import Agent
from claude_mem.agents.droid import EVENTS
from claude_mem.agents.file_parts import FilePart, hook_groups, json_part, server_part
from claude_mem.agents.launcher import Machine
from claude_mem.agents.session_files import Fields, SessionFiles, TranscriptSession, read_message, words_of

NAME = "droid"
TIMEOUT_S = 10


def home() -> Path:
    return Path.home() / ".factory"


def hooks(machine: Machine) -> dict[str, Any]:
    return {"hooks": hook_groups(machine, NAME, EVENTS, timeout=TIMEOUT_S)}


def parts(machine: Machine) -> list[FilePart]:
    return [
        json_part(home() / "settings.json", **hooks(machine)),
        server_part(home() / "mcp.json", machine, type="stdio"),
    ]


# Reads its session files as the events that its hooks would have sent, plus the commands that failed.


_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


def _read_line(session: TranscriptSession, line: Fields) -> None:
    match line.get("type"):
        case "session_start":
            session.follow(line.get("id"), line.get("cwd"))
        case "agent_turn_outcome":
            session.end_turn()
        case "message" if not str(line.get("id")).startswith("context-"):
            if line["message"].get("visibility") != "user_only":  # that a hook ran
                read_message(session, line["message"], lambda text: _REMINDER.sub("", text))


READER = SessionFiles(NAME, lambda: home() / "sessions", "*.jsonl", _read_line)
AGENT = Agent(NAME, "droid", home, hooks, parts, READER, words_of=words_of(READER, between=1))
