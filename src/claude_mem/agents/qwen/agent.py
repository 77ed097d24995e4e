"""Declares Qwen Code, a fork of Gemini CLI, as an agent (`agents.catalog`)."""

from __future__ import annotations

from pathlib import Path

from claude_mem.agents.gemini.agent import gemini_agent
from claude_mem.agents.qwen import EVENTS
from claude_mem.agents.session_files import Fields, SessionFiles, TranscriptSession

NAME = "qwen"


def home() -> Path:
    return Path.home() / ".qwen"


# Reads its session files (chats) as the events that its hooks would have sent.


def _read_line(session: TranscriptSession, line: Fields) -> None:
    session.follow(line.get("sessionId"), line.get("cwd"), line.get("gitBranch"))
    parts = (line.get("message") or {}).get("parts") or ()
    texts = [each["text"] for each in parts if isinstance(each.get("text"), str) and not each.get("thought")]
    match line.get("type"):
        case "user" if line.get("provenance", "real_user") == "real_user":
            session.prompt("\n".join(texts))
        case "assistant":
            session.agent_message("\n".join(texts))
            for call in (each["functionCall"] for each in parts if "functionCall" in each):
                session.call(call["id"], call["name"], call["args"])
        case "tool_result":
            for answer in (each["functionResponse"] for each in parts if "functionResponse" in each):
                response = answer["response"]
                output = response.get("error", response.get("output"))
                session.answer(answer["id"], output, failed="error" in response)


READER = SessionFiles(NAME, lambda: home() / "projects", "*.jsonl", _read_line, lambda line: line.get("uuid"))
AGENT = gemini_agent(NAME, home, EVENTS, READER)
