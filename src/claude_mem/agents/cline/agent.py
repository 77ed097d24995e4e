"""Declares Cline CLI as an agent (`agents.catalog`). Its hooks are programs, each named after its event."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from claude_mem.agents import launcher
from claude_mem.agents.catalog import Agent
from claude_mem.agents.claude_code import transcript_lines
from claude_mem.agents.claude_code.transcript_lines import LineTally
from claude_mem.agents.cline import EVENTS
from claude_mem.agents.file_changes import read_text
from claude_mem.agents.file_parts import FilePart, data_dir_note, own_file, server_part
from claude_mem.agents.launcher import Machine, hook_line
from claude_mem.agents.session_files import Fields, Numbered, SessionFiles, TranscriptSession, read_message
from claude_mem.files import read_object

NAME = "cline"
ENDINGS = (".sh", ".bash", "")
"""It runs every file named after an event, so ours has a different ending than the user's own."""


def home() -> Path:
    return Path(os.environ.get("CLINE_DIR") or Path.home() / ".cline")


def data() -> Path:
    return Path(os.environ.get("CLINE_DATA_DIR") or home() / "data")


def hooks(machine: Machine) -> dict[str, Any]:
    """By the names of their files."""
    note = data_dir_note(machine)
    return {event: f"#!/bin/sh\n# {note}\n{hook_line(machine, event, NAME)}\n" for event in EVENTS}


def parts(machine: Machine) -> list[FilePart]:
    programs = [own_file(_file(event), text, executable=True) for event, text in hooks(machine).items()]
    return [*programs, server_part(data() / "settings/cline_mcp_settings.json", machine)]


def _file(event: str) -> Path:
    files = [home() / f"hooks/{event}{ending}" for ending in ENDINGS]
    our_files = (file for file in files if launcher.MARK in (read_text(file) or ""))
    return next(our_files, next((file for file in files if not file.exists()), files[0]))


# Reads its session files: the messages are in one JSON file, and the directory is in another next to it.


_INPUT = re.compile(r"<user_input[^>]*>(.*?)</user_input>", re.DOTALL)


def _messages(path: Path, tally: LineTally) -> Numbered:
    """The messages in a file; a file that is not a JSON object counts as one lost line."""
    text = path.read_bytes()
    document: dict[str, Any] = transcript_lines.parsed(text, 1, tally) or {}
    tally.lines += 1
    yield from enumerate((each for each in document.get("messages", ()) if isinstance(each, dict)), 1)


def _read_line(session: TranscriptSession, message: Fields) -> None:
    read_message(session, message, lambda text: typed[1] if (typed := _INPUT.search(text)) else text)


def _about(session: TranscriptSession, path: Path) -> None:
    known = read_object(path.with_name(f"{session.id}.json"))
    session.follow(known.get("session_id"), known.get("cwd"))


def _at(message: Fields) -> int | None:
    at = message.get("ts")
    return at if isinstance(at, int) else None


def _last_at(path: Path) -> int | None:
    return max((_at(each) or 0 for _, each in _messages(path, LineTally())), default=None)


READER = SessionFiles(
    NAME,
    lambda: data() / "sessions",
    "*.messages.json",
    _read_line,
    at=_at,
    lines=_messages,
    beside=_about,
    last_at=_last_at,
)
AGENT = Agent(NAME, "cline", home, hooks, parts, READER)
