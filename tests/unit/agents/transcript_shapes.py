"""Lines as clients wrote them, to make transcripts of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from claude_mem.agents.claude_code import transcripts
from claude_mem.model.events import TranscriptEvent

SESSION = "5694f1f0-0000-4000-8000-000000000001"
Fields = dict[str, object]


def line(kind: str, second: float, **fields: object) -> Fields:
    whole, part = divmod(round(second * 1000), 1000)
    return {
        "parentUuid": None,
        "isSidechain": False,
        "type": kind,
        "uuid": f"{kind}-{second}",
        "timestamp": f"2026-07-15T04:{whole // 60:02}:{whole % 60:02}.{part:03}Z",
        "sessionId": SESSION,
        "cwd": "/home/u/parcel",
        "gitBranch": "main",
    } | fields


def user(second: float, content: object, **fields: object) -> Fields:
    return line("user", second, message={"role": "user", "content": content}, **fields)


def says(
    second: float,
    *blocks: object,
    stop: str | None = "end_turn",
    message: Mapping[str, object] | None = None,
    **fields: object,
) -> Fields:
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    said = {"id": f"msg-{second}", "model": "claude-x", "content": content, "stop_reason": stop}
    return line("assistant", second, message=said | dict(message or {}), **fields)


def uses(second: float, use_id: str, name: str, given: Mapping[str, object], **fields: object) -> Fields:
    call = {"type": "tool_use", "id": use_id, "name": name, "input": given}
    return says(second, call, stop="tool_use", message=None, **fields)


def answers(
    second: float, use_id: str, content: object = "seen", error: bool = False, **fields: object
) -> Fields:
    result = {"type": "tool_result", "tool_use_id": use_id, "content": content, "is_error": error}
    return user(second, [result], **fields)


def note(second: float, subtype: str, **fields: object) -> Fields:
    return line("system", second, subtype=subtype, **fields)


def attached(second: float, **attachment: object) -> Fields:
    return line("attachment", second, attachment=attachment)


def write(folder: Path, found: Sequence[Mapping[str, object] | str], name: str = f"{SESSION}.jsonl") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    texts = [each if isinstance(each, str) else json.dumps(each, separators=(",", ":")) for each in found]
    path.write_text("".join(f"{text}\n" for text in texts))
    return path


def told(folder: Path, *found: Mapping[str, object] | str) -> list[TranscriptEvent]:
    return list(transcripts.read(write(folder, found)))


def names(events: Sequence[TranscriptEvent]) -> list[str]:
    """Of the hooks, without the start and the end that every session has."""
    assert events[0].event == "SessionStart"
    assert events[-1].event == "SessionEnd"
    return [each.event for each in events[1:-1]]


def one(events: Sequence[TranscriptEvent], event: str) -> Fields:
    """The payload of the only one of its kind."""
    (found,) = (each for each in events if each.event == event)
    return found.payload
