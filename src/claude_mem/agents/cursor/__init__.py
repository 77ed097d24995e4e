"""Cursor's hooks, from its documentation: its own event and field names. No hook reports how a turn ended."""

from __future__ import annotations

EVENTS = {
    "sessionStart": "SessionStart",
    "beforeSubmitPrompt": "UserPromptSubmit",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "stop": "Stop",
    "sessionEnd": "SessionEnd",
}
KEYS = {
    "conversation_id": "session_id",
    "generation_id": "prompt_id",
    "tool_output": "tool_response",
    "error_message": "error",
}
INJECTION_EVENTS = frozenset(("SessionStart", "UserPromptSubmit"))


def read(event: str, payload: dict[str, object]) -> dict[str, object] | None:
    payload.pop("user_email", None)
    roots = payload.get("workspace_roots")
    if not payload.get("cwd") and isinstance(roots, list) and roots:
        payload["cwd"] = roots[0]
    if event == "SessionStart":
        payload.setdefault("source", "startup")
        payload.pop("prompt_id", None)
    for key in ("tool_input", "tool_response"):
        value = payload.get(key)
        if isinstance(value, str):  # JSON in JSON
            from claude_mem.hook import json_text

            payload[key] = json_text.parse(value) or value
    return payload


def answer(event: str, context: str, message: str, reason: str) -> dict[str, object]:
    del message
    if event == "beforeSubmitPrompt" and reason:
        return {"continue": False, "user_message": reason}
    output: dict[str, object] = {"additional_context": context} if context else {}
    return {"continue": True} | output if output and event == "beforeSubmitPrompt" else output
