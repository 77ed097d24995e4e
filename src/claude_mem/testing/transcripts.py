"""Turns a Claude Code transcript into the hook payloads the client would have sent, in order and time."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.S)
_INTERRUPTED = "[Request interrupted by user"

Payload = dict[str, object]


def replay(path: Path) -> Iterator[tuple[int, Payload]]:
    """Epoch milliseconds and payload of each event. Unknown, injected and truncated lines are passed over."""
    session = _Session(path.name.split(".")[0], str(path))
    for line in _lines(path):
        yield from session.take(line)
    yield from session.close()


def _lines(path: Path) -> Iterator[Mapping[str, object]]:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
        try:
            for raw in file:
                try:
                    line = json.loads(raw)
                except (ValueError, RecursionError):
                    continue  # the last line of a session that was killed
                if isinstance(line, dict):
                    yield line
        except EOFError:
            return  # the archive itself was cut


class _Session:
    """What is open while a transcript is read: calls without results, and the turn's last word."""

    def __init__(self, session: str, path: str) -> None:
        self.id = session
        self.path = path
        self.cwd: object = None
        self.prompt_id: object = None
        self.at = 0
        self.said_at = 0
        self.started = False
        self.calls: dict[str, Mapping[str, object]] = {}
        self.said: list[str] = []
        self.ended_turn = False

    def take(self, line: Mapping[str, object]) -> Iterator[tuple[int, Payload]]:
        message = line.get("message")
        if line.get("isSidechain") or line.get("agentId") or not isinstance(message, Mapping):
            return
        kind, content = line.get("type"), message.get("content")
        if kind not in ("user", "assistant"):
            return
        self.at = max(self.at, _epoch(line.get("timestamp")) or self.at)
        self.cwd = line.get("cwd") or self.cwd
        if isinstance(line.get("sessionId"), str):
            self.id = str(line["sessionId"])
        if not self.started:
            self.started = True
            yield self._payload("SessionStart", source="startup")
        if kind == "assistant":
            self._heard(message)
            return
        results = (
            [part for part in content if isinstance(part, Mapping) and part.get("type") == "tool_result"]
            if isinstance(content, list)
            else []
        )
        if results:
            for result in results:
                yield from self._result(result, line)
        elif not line.get("isMeta") and not line.get("isCompactSummary"):
            yield from self._prompt(line, _text(content))

    def close(self) -> Iterator[tuple[int, Payload]]:
        yield from self._stop()
        if self.started:
            yield self._payload("SessionEnd", reason="other")

    def _heard(self, message: Mapping[str, object]) -> None:
        content = message.get("content")
        self.said_at = self.at
        for part in content if isinstance(content, list) else []:
            if not isinstance(part, Mapping):
                continue
            if part.get("type") == "tool_use":
                self.calls[str(part.get("id"))] = part
                self.said = []
            elif part.get("type") == "text" and isinstance(part.get("text"), str):
                self.said.append(str(part["text"]))
        self.ended_turn = (
            message.get("stop_reason") in ("end_turn", "stop_sequence")
            and message.get("model") != "<synthetic>"
        )

    def _prompt(self, line: Mapping[str, object], text: str) -> Iterator[tuple[int, Payload]]:
        yield from self._stop()
        origin = line.get("origin")
        said_by = origin.get("kind") if isinstance(origin, Mapping) else "human"
        self.prompt_id = line.get("promptId") or self.prompt_id
        text = _REMINDER.sub("", text).strip()
        if said_by == "human" and text and not text.startswith(_INTERRUPTED):
            yield self._payload("UserPromptSubmit", permission_mode="default", prompt=text)
        self.said, self.ended_turn = [], False

    def _result(
        self, result: Mapping[str, object], line: Mapping[str, object]
    ) -> Iterator[tuple[int, Payload]]:
        use_id = str(result.get("tool_use_id"))
        call = self.calls.pop(use_id, None)
        if call is None:
            return
        told = line.get("toolUseResult", result.get("content"))
        head = {"permission_mode": "default", "tool_name": call.get("name"), "tool_input": call.get("input")}
        if result.get("is_error"):
            error = told if isinstance(told, str) else _text(result.get("content"))
            yield self._payload(
                "PostToolUseFailure",
                **head,
                tool_use_id=use_id,
                error=error.removeprefix("Error: "),
                is_interrupt=False,
            )
        else:
            yield self._payload("PostToolUse", **head, tool_response=told, tool_use_id=use_id)

    def _stop(self) -> Iterator[tuple[int, Payload]]:
        """The hook fires only when a turn came to its own end; an interrupted one has none. It fires when the
        last word was said; that it was the last is only seen at the next prompt, perhaps the next morning."""
        if self.ended_turn:
            _, stop = self._payload(
                "Stop", stop_hook_active=False, last_assistant_message="\n\n".join(self.said)
            )
            yield self.said_at, stop
        self.said, self.ended_turn = [], False

    def _payload(self, event: str, **fields: object) -> tuple[int, Payload]:
        head: Payload = {
            "session_id": self.id,
            "transcript_path": self.path,
            "cwd": self.cwd,
            "hook_event_name": event,
        }
        if self.prompt_id and event != "SessionStart":
            head["prompt_id"] = self.prompt_id
        return self.at, head | fields


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part["text"]) for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    )


def _epoch(stamp: object) -> int | None:
    if not isinstance(stamp, str):
        return None
    try:
        return int(datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
