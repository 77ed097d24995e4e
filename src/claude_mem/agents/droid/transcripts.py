"""What Factory droid writes of a session: as its hooks would have told it, and the commands that failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from claude_mem.agents.session_files import Fields, Session, SessionFiles

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


def _folder(environ: Mapping[str, str]) -> Path:
    return Path(environ.get("HOME", "~")).expanduser() / ".factory" / "sessions"


def _tell(session: Session, line: Fields) -> None:
    match line.get("type"):
        case "session_start":
            session.follow(line.get("id"), line.get("cwd"))
        case "agent_turn_outcome":
            session.end_turn()
        case "message" if not str(line.get("id")).startswith("context-"):
            _message(session, line["message"])


def _message(session: Session, message: Fields) -> None:
    if message.get("visibility") == "user_only":  # that a hook ran
        return
    parts = message["content"]
    text = "\n".join(each["text"] for each in parts if each["type"] == "text")
    if message["role"] == "assistant":
        session.say(text)
    for each in parts:
        if each["type"] == "tool_use":
            session.call(each["id"], each["name"], each["input"])
        elif each["type"] == "tool_result":
            session.answer(each["tool_use_id"], each["content"], failed=each.get("is_error") is True)
    if message["role"] == "user":
        session.prompt(_REMINDER.sub("", text))


READER = SessionFiles("droid", _folder, "*.jsonl", _tell)
