"""Converts a hook's payload, in Claude Code's format, to an `Event`."""

from __future__ import annotations

import json
from collections.abc import Mapping

from claude_mem.agents import CLAUDE_CODE, launcher
from claude_mem.model.errors import EventUnreadable
from claude_mem.model.events import Event, Kind, ToolCall
from claude_mem.model.text import storable
from claude_mem.privacy import tags

TOOL_PREFIXES = (f"mcp__{launcher.SERVER}__", f"mcp__plugin_{launcher.PLUGIN}_{launcher.SERVER}__")
"""Our own tools, by settings and by plugin. A query of memory is an event like any other; its text and
its answer are in memory already: recorded, they would be learned again, and outlive their deletion."""

KINDS = {
    "SessionStart": Kind.SESSION_START,
    "UserPromptSubmit": Kind.PROMPT,
    "PostToolUse": Kind.TOOL_USE,
    "PostToolUseFailure": Kind.TOOL_FAILURE,
    "Stop": Kind.STOP,
    "StopFailure": Kind.STOP_FAILURE,
    "SubagentStop": Kind.SUBAGENT_STOP,
    "PreCompact": Kind.PRE_COMPACT,
    "PostCompact": Kind.POST_COMPACT,
    "SessionEnd": Kind.SESSION_END,
}
OF_TRANSCRIPTS = {"AgentMessage": Kind.AGENT_MESSAGE}
"""Events that no hook reports."""

TEXT = {
    Kind.PROMPT: "prompt",
    Kind.AGENT_MESSAGE: "message",
    Kind.STOP: "last_assistant_message",
    Kind.STOP_FAILURE: "last_assistant_message",
    Kind.SUBAGENT_STOP: "last_assistant_message",
    Kind.PRE_COMPACT: "custom_instructions",
    Kind.POST_COMPACT: "compact_summary",
}
NOTE = {
    Kind.SESSION_START: "source",
    Kind.SESSION_END: "reason",
    Kind.STOP_FAILURE: "error",
    Kind.PRE_COMPACT: "trigger",
    Kind.POST_COMPACT: "trigger",
}


def parse(
    name: str,
    payload: Mapping[str, object],
    *,
    id: str,
    at: int,
    client: str = CLAUDE_CODE,
    private: bool = False,
) -> Event | None:
    """The event that a hook reported; None if it contains nothing worth recording. Raises EventUnreadable."""
    kind = KINDS.get(name) or OF_TRANSCRIPTS.get(name)
    session = _text(payload, "session_id")
    if kind is None:
        raise EventUnreadable(f"{name!r} is not an event that is recorded")
    if not session:
        raise EventUnreadable("session_id is missing")
    if kind is Kind.SUBAGENT_STOP and not payload.get("agent_type"):
        return None  # the client's own inner forks (compaction), not a subagent of the user's
    text = None if private else _text(payload, TEXT.get(kind))
    if kind is Kind.PROMPT and text and tags.is_task_notification(text):
        kind, text = Kind.TASK_END, tags.notification_summary(text)
    return Event(
        id=id,
        at=at,
        kind=kind,
        session=session,
        client=client,
        cwd=_text(payload, "cwd"),
        project=_text(payload, "project"),
        transcript_path=_text(payload, "transcript_path"),
        prompt_id=_text(payload, "prompt_id"),
        prompt_number=_number(payload, "prompt_number"),
        agent_id=_text(payload, "agent_id"),
        agent_type=_text(payload, "agent_type"),
        tool=None if private else _tool(kind, payload),
        text=text,
        note=_text(payload, NOTE.get(kind)),
        private=private,
    )


def _tool(kind: Kind, payload: Mapping[str, object]) -> ToolCall | None:
    if kind not in (Kind.TOOL_USE, Kind.TOOL_FAILURE):
        return None
    name = _text(payload, "tool_name") or "unknown"
    use_id = _text(payload, "tool_use_id")
    if name.startswith(TOOL_PREFIXES):
        return ToolCall(name, use_id=use_id)
    outcome = payload.get("error" if kind is Kind.TOOL_FAILURE else "tool_response")
    return ToolCall(
        name=name,
        input=_json(payload.get("tool_input")),
        response=_json(outcome if outcome is not None else payload.get("tool_output")),
        use_id=use_id,
    )


def _text(payload: Mapping[str, object], key: str | None) -> str | None:
    value = payload.get(key) if key else None
    return storable(value) if isinstance(value, str) and value else None


def _number(payload: Mapping[str, object], key: str) -> int | None:
    value = payload.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 31 else None


def _json(value: object) -> str | None:
    """Text stays text; all else becomes JSON, readable in any language."""
    if value is None:
        return None
    try:
        return storable(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    except RecursionError:
        raise EventUnreadable("it nests too deep") from None
