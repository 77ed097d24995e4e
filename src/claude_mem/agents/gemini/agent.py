"""Declares Gemini CLI and its forks as agents (`agents.catalog`)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from claude_mem.agents import launcher
from claude_mem.agents.catalog import Agent
from claude_mem.agents.claude_code.transcript_lines import LineTally
from claude_mem.agents.file_parts import FilePart, hook_groups, json_part
from claude_mem.agents.gemini import EVENTS
from claude_mem.agents.launcher import Machine
from claude_mem.agents.session_files import Fields, Numbered, SessionFiles, TranscriptSession, json_lines

NAME = "gemini"
TIMEOUT_MS = 10_000


def home() -> Path:
    return Path(os.environ.get("GEMINI_CLI_HOME") or Path.home()) / ".gemini"


def gemini_agent(
    name: str, home: Callable[[], Path], events: Iterable[str], transcripts: SessionFiles
) -> Agent:
    """Hooks and servers are in one file of settings."""

    def hooks(machine: Machine) -> dict[str, Any]:
        return {"hooks": hook_groups(machine, name, events, timeout=TIMEOUT_MS, name=launcher.SERVER)}

    def parts(machine: Machine) -> list[FilePart]:
        server = launcher.mcp_server(machine)
        return [json_part(home() / "settings.json", **hooks(machine), servers="mcpServers", server=server)]

    return Agent(name, name, home, hooks, parts, transcripts)


# Reads its session files (chats) as the events that its hooks would have sent. A message is written when it
# begins, and again, under the same id, with its tool calls and their results.


def _last_versions(path: Path, tally: LineTally) -> Numbered:
    """Of each message the last, in the order in which they were begun."""
    previous: tuple[int, dict[str, Any]] | None = None
    for number, line in json_lines(path, tally):
        if "$set" in line:
            continue
        if previous and line.get("id") != previous[1].get("id"):
            yield previous
        previous = number, line
    if previous:
        yield previous


def _read_line(session: TranscriptSession, line: Fields) -> None:
    if "projectHash" in line:
        session.follow(line.get("sessionId"))
        session.is_main_session = line.get("kind", "main") == "main"
    elif line.get("type") == "user":
        session.prompt(_text(line["content"]))
    elif line.get("type") == "gemini":
        session.agent_message(_text(line["content"]))
        for call in line.get("toolCalls", ()):
            session.call(call["id"], call["name"], call["args"])
            answers = [each["functionResponse"]["response"] for each in call.get("result") or ()]
            failed = call.get("status") != "success"
            texts = [str(each.get("error" if "error" in each else "output", "")) for each in answers]
            if answers and call.get("status") != "cancelled":
                session.answer(call["id"], "\n".join(texts), failed=failed)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(each["text"] for each in parts if isinstance(each.get("text"), str))


def _root(session: TranscriptSession, path: Path) -> None:
    with suppress(OSError):
        session.follow(cwd=(path.parent.parent / ".project_root").read_text("utf-8").strip())


READER = SessionFiles(
    NAME, lambda: home() / "tmp", "session-*.jsonl", _read_line, lines=_last_versions, beside=_root
)
AGENT = gemini_agent(NAME, home, EVENTS, READER)
