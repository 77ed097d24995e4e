"""What Copilot CLI writes of a session, its events: as its hooks would have told it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from claude_mem.agents.session_files import Fields, SessionFiles, TranscriptSession


def _folder(environ: Mapping[str, str]) -> Path:
    home = environ.get("COPILOT_HOME") or Path(environ.get("HOME", "~")).expanduser() / ".copilot"
    return Path(home) / "session-state"


def _tell(session: TranscriptSession, line: Fields) -> None:
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


READER = SessionFiles("copilot", _folder, "events.jsonl", _tell)
