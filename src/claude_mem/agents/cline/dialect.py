"""What Cline's hooks say: in words of its own, with what a tool was given and answered inside an object.

Text reaches its model only beside a tool, so that is where a session is told what a start would tell it.
"""

from __future__ import annotations

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
KEYS: dict[str, str] = {}
PLACES = frozenset(("PreToolUse",))


def read(event: str, payload: dict[str, object]) -> dict[str, object] | None:
    """None for a subagent's: its parent reports what came of it."""
    if payload.get("parent_agent_id"):
        return None
    roots = payload.get("workspaceRoots")
    spoken = {
        "session_id": payload.get("taskId"),
        "cwd": roots[0] if isinstance(roots, list) and roots else None,
        "hook_event_name": event,
        "timestamp": payload.get("timestamp"),
    }
    call = _object(payload, "tool_result") or _object(payload, "tool_call")
    if call:
        spoken |= {"tool_name": call.get("name"), "tool_input": call.get("input")}
        spoken["tool_use_id"] = call.get("id")
    if event == "PostToolUse" and call.get("error"):
        spoken |= {"hook_event_name": "PostToolUseFailure", "error": call["error"]}
    elif event == "PostToolUse":
        spoken["tool_response"] = call.get("output")
    elif event == "UserPromptSubmit":
        spoken["prompt"] = _object(payload, "userPromptSubmit").get("prompt")
    elif event == "Stop":
        spoken["last_assistant_message"] = _object(payload, "turn").get("outputText")
    elif event == "StopFailure":
        spoken["error"] = _object(payload, "error").get("name")
    elif event == "SessionEnd":
        spoken["reason"] = payload.get("reason")
    return {key: value for key, value in spoken.items() if value is not None}


def answer(event: str, context: str, message: str, reason: str) -> dict[str, object]:
    del event, message, reason
    return {"cancel": False, "contextModification": context} if context else {}


def _object(payload: dict[str, object], key: str) -> dict[str, object]:
    found = payload.get(key)
    return found if isinstance(found, dict) else {}
