"""Cline's hooks: its own event and field names, with a tool's input and output inside an object.

Text reaches its model only with a tool, so the context for a session's start is injected there. Its
command line does not report prompts; its transcript contains them.
"""

from __future__ import annotations

import posix

EVENTS = {
    "TaskStart": "SessionStart",
    "TaskResume": "SessionStart",
    "UserPromptSubmit": "UserPromptSubmit",
    "PreToolUse": "PreToolUse",
    "PostToolUse": "PostToolUse",
    "TaskComplete": "Stop",
    "TaskError": "StopFailure",
    "SessionShutdown": "SessionEnd",
}
INJECTION_EVENTS = frozenset(("PreToolUse",))


def read(event: str, payload: dict[str, object]) -> dict[str, object] | None:
    """The event in Claude Code's format; None for a subagent's, because its parent reports the result."""
    if payload.get("parent_agent_id"):
        return None
    roots, root = payload.get("workspaceRoots"), _object(payload, "sessionContext").get("rootSessionId")
    fields = {
        "session_id": root or payload.get("taskId"),  # its file has the former
        "cwd": roots[0] if isinstance(roots, list) and roots else None,
        "hook_event_name": event,
        "timestamp": payload.get("timestamp"),
        "transcript_path": _transcript(root),
    }
    call = _object(payload, "tool_result") or _object(payload, "tool_call")
    if call:
        fields |= {"tool_name": call.get("name"), "tool_input": call.get("input")}
        fields["tool_use_id"] = call.get("id")
    if event == "PostToolUse" and call.get("error"):
        fields |= {"hook_event_name": "PostToolUseFailure", "error": call["error"]}
    elif event == "PostToolUse":
        fields["tool_response"] = call.get("output")
    elif event == "UserPromptSubmit":
        fields["prompt"] = _object(payload, "userPromptSubmit").get("prompt")
    elif event == "Stop":
        fields["last_assistant_message"] = _object(payload, "turn").get("outputText")
    elif event == "StopFailure":
        fields["error"] = _object(payload, "error").get("name")
    elif event == "SessionEnd":
        fields["reason"] = payload.get("reason")
    return {key: value for key, value in fields.items() if value is not None}


def answer(event: str, context: str, message: str, reason: str) -> dict[str, object]:
    del event, message, reason
    return {"cancel": False, "contextModification": context} if context else {}


def prompt(payload: dict[str, object]) -> str:
    """The turn's; "" if it is not found."""
    from claude_mem.hook.transcript_peek import member, read_object, texts

    messages = read_object(payload.get("transcript_path")).get("messages")
    for message in reversed(messages) if isinstance(messages, list) else ():
        typed = texts(member(message, "content")) if member(message, "role") == "user" else ""
        if typed.strip():
            return _unwrapped(typed)
    return ""


def _unwrapped(typed: str) -> str:
    """Cline puts it in a tag: <user_input mode="act">…</user_input>."""
    if not typed.startswith("<user_input"):
        return typed
    return typed.partition(">")[2].removesuffix("</user_input>")


def _transcript(session: object) -> str | None:
    if not isinstance(session, str) or "/" in session:
        return None
    environ = posix.environ
    own = environ.get(b"CLINE_DIR") or environ.get(b"HOME", b"") + b"/.cline"
    data = (environ.get(b"CLINE_DATA_DIR") or own + b"/data").decode(errors="replace")
    return f"{data}/sessions/{session}/{session}.messages.json"


def _object(payload: dict[str, object], key: str) -> dict[str, object]:
    found = payload.get(key)
    return found if isinstance(found, dict) else {}
