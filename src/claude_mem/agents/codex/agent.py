"""Declares Codex CLI as an agent (`agents.catalog`)."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path
from typing import Any

from claude_mem.agents.catalog import Agent
from claude_mem.agents.codex import EVENTS
from claude_mem.agents.file_parts import FilePart, hook_groups, json_part, toml_server
from claude_mem.agents.launcher import Machine
from claude_mem.agents.session_files import Fields, SessionFiles, TranscriptSession, words_of

NAME = "codex"
TIMEOUT_S = 10


def home() -> Path:
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")


def hooks(machine: Machine) -> dict[str, Any]:
    return {"hooks": hook_groups(machine, NAME, EVENTS, timeout=TIMEOUT_S)}


def parts(machine: Machine) -> list[FilePart]:
    return [
        json_part(home() / "hooks.json", **hooks(machine)),
        toml_server(home() / "config.toml", machine),
    ]


# Reads its session files (rollouts) as the events that its hooks would have sent.


_SHELLS = ("exec_command", "shell", "shell_command", "container.exec")
_EXIT = re.compile(r"^(?:Process exited with code|Exit code:) (\d+)$", re.MULTILINE)


def _name(line: Fields) -> object:
    """A line's name, which is the same in a fork, because that begins with a copy."""
    payload = line.get("payload") or {}
    turn = payload.get("turn_id") or payload.get("internal_chat_message_metadata_passthrough", {}).get(
        "turn_id"
    )
    item = (
        payload.get("call_id")
        or payload.get("id")
        or payload.get("item", {}).get("id")
        or payload.get("type")
    )
    return f"{turn}-{item}" if turn and item else None


def _read_line(session: TranscriptSession, line: Fields) -> None:
    payload = line.get("payload", {})
    kind = payload.get("type")
    match line.get("type"):
        case "session_meta":
            session.follow(payload.get("id"), payload.get("cwd"), (payload.get("git") or {}).get("branch"))
            session.is_main_session = payload.get("thread_source", "user") == "user"
        case "turn_context":
            session.follow(cwd=payload.get("cwd"))
            session.turn = payload.get("turn_id") or session.turn
        case "event_msg" if kind == "task_started":
            session.turn = payload.get("turn_id") or session.turn
        case "event_msg" if kind == "user_message":
            session.prompt(payload["message"])
        case "event_msg" if kind == "item_completed" and payload["item"]["type"] == "UserMessage":
            session.prompt("\n".join(each["text"] for each in payload["item"]["content"] if "text" in each))
        case "event_msg" if kind == "task_complete":
            session.end_turn()
        case "response_item" if kind == "message" and payload["role"] == "assistant":
            session.agent_message("\n".join(each["text"] for each in payload["content"] if "text" in each))
        case "response_item" if kind == "function_call":
            session.call(payload["call_id"], *_used(payload["name"], json.loads(payload["arguments"])))
        case "response_item" if kind == "custom_tool_call":
            session.call(payload["call_id"], payload["name"], {"command": payload["input"]})
        case "response_item" if kind in ("function_call_output", "custom_tool_call_output"):
            text = payload["output"] if isinstance(payload["output"], str) else json.dumps(payload["output"])
            code = _EXIT.search(text[:300])
            session.answer(payload["call_id"], _output(text), failed=bool(code and code[1] != "0"))


def _used(tool: str, arguments: Fields) -> tuple[str, Fields]:
    """As its hooks name it: whatever runs a command is Bash."""
    command = arguments.get("cmd", arguments.get("command"))
    if tool not in _SHELLS or not command:
        return tool, arguments
    if isinstance(command, list):
        is_script = len(command) == 3 and command[1] in ("-c", "-lc")
        command = command[2] if is_script else shlex.join(map(str, command))
    return "Bash", {"command": command}


def _output(text: str) -> str:
    head, mark, output = text.partition("\nOutput:\n")
    return output if mark and len(head) < 300 else text


READER = SessionFiles(NAME, lambda: home() / "sessions", "rollout-*.jsonl", _read_line, _name)
AGENT = Agent(
    NAME,
    "codex",
    home,
    hooks,
    parts,
    READER,
    needs="Codex runs new hooks only after you trust them: start codex and type /hooks.",
    words_of=words_of(READER, between=3),  # by year, month and day
)
