"""What Factory droid writes of a session: as its hooks would have told it, and the commands that failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from claude_mem.agents.session_files import Fields, SessionFiles, TranscriptSession, tell_message

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


def _folder(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME", "~")).expanduser() / ".factory" / "sessions"


def _tell(session: TranscriptSession, line: Fields) -> None:
    match line.get("type"):
        case "session_start":
            session.follow(line.get("id"), line.get("cwd"))
        case "agent_turn_outcome":
            session.end_turn()
        case "message" if not str(line.get("id")).startswith("context-"):
            if line["message"].get("visibility") != "user_only":  # that a hook ran
                tell_message(session, line["message"], lambda text: _REMINDER.sub("", text))


READER = SessionFiles("droid", _folder, "*.jsonl", _tell)
