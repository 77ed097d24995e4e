"""What Cline writes of a session: its messages in one JSON file, and beside it where it ran."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from claude_mem.agents.claude_code import transcript_lines
from claude_mem.agents.claude_code.transcript_lines import LineTally
from claude_mem.agents.session_files import Fields, Numbered, SessionFiles, TranscriptSession, tell_message
from claude_mem.files import read_object

_INPUT = re.compile(r"<user_input[^>]*>(.*?)</user_input>", re.DOTALL)


def _folder(environ: Mapping[str, str]) -> Path:
    home = environ.get("CLINE_DIR") or Path(environ.get("HOME", "~")).expanduser() / ".cline"
    return Path(environ.get("CLINE_DATA_DIR") or Path(home) / "data") / "sessions"


def _messages(path: Path, tally: LineTally) -> Numbered:
    """A file that is no JSON object is one lost line."""
    text = path.read_bytes()
    whole: dict[str, Any] = transcript_lines.parsed(text, 1, tally) or {}
    tally.lines += 1
    yield from enumerate((each for each in whole.get("messages", ()) if isinstance(each, dict)), 1)


def _tell(session: TranscriptSession, message: Fields) -> None:
    tell_message(session, message, lambda text: typed[1] if (typed := _INPUT.search(text)) else text)


def _about(session: TranscriptSession, path: Path) -> None:
    known = read_object(path.with_name(f"{session.id}.json"))
    session.follow(known.get("session_id"), known.get("cwd"))


def _at(message: Fields) -> int | None:
    at = message.get("ts")
    return at if isinstance(at, int) else None


def _last_at(path: Path) -> int | None:
    return max((_at(each) or 0 for _, each in _messages(path, LineTally())), default=None)


READER = SessionFiles(
    "cline",
    _folder,
    "*.messages.json",
    _tell,
    at=_at,
    lines=_messages,
    beside=_about,
    last_at=_last_at,
)
