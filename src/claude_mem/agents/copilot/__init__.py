"""Copilot CLI's hooks: its own event and field names or, if it runs a project's hooks for Claude Code, almost
Claude Code's. Both are translated to the same event, so an event that two hooks report counts once.
"""

from __future__ import annotations

OWN_EVENTS = {
    "sessionStart": "SessionStart",
    "userPromptSubmitted": "UserPromptSubmit",
    "preToolUse": "PreToolUse",
    "postToolUse": "PostToolUse",
    "postToolUseFailure": "PostToolUseFailure",
    "agentStop": "Stop",
    "sessionEnd": "SessionEnd",
}
EVENTS = OWN_EVENTS | {name: name for name in OWN_EVENTS.values()}
KEYS = {
    "sessionId": "session_id",
    "transcriptPath": "transcript_path",
    "toolName": "tool_name",
    "toolArgs": "tool_input",
    "toolResult": "tool_response",
    "tool_result": "tool_response",
    "toolCallId": "tool_use_id",
    "initialPrompt": "initial_prompt",
    "stopReason": "stop_reason",
}
INJECTION_EVENTS = frozenset(("SessionStart", "UserPromptSubmit", "PreToolUse"))
_TOOLS = {"Write": "create", "Edit": "edit", "Read": "view", "Bash": "bash"}
_TRIES, _TRY_EVERY_S = 20, 0.02
_ANSWER = {"result_type": "resultType", "text_result_for_llm": "textResultForLlm"}


def read(event: str, payload: dict[str, object]) -> dict[str, object] | None:
    given, answered = payload.get("tool_input"), payload.get("tool_response")
    if isinstance(tool := payload.get("tool_name"), str):
        payload["tool_name"] = _TOOLS.get(tool, tool)
    if isinstance(given, str):  # JSON in JSON
        from claude_mem.hook import json_text

        payload["tool_input"] = json_text.parse(given) or given
    if isinstance(answered, dict):
        payload["tool_response"] = {_ANSWER.get(key, key): value for key, value in answered.items()}
    if event == "Stop" and "last_assistant_message" not in payload:
        message = _last_message(payload.get("transcript_path"))
        payload |= {"last_assistant_message": message} if message else {}
    if event == "SessionStart":
        payload.pop("initial_prompt", None)  # it comes again, as a prompt
        if payload.get("source") == "new":
            payload["source"] = "startup"
    return payload


def _last_message(transcript: object) -> str:
    """It is written a moment after the hook is run, in a short session with all that went before, and nothing
    says when: it is looked for 0.4 seconds at most. A message that asks for tools is not the last."""
    import time

    from claude_mem.hook.transcript_peek import last_lines, member

    for _ in range(_TRIES):
        for line in last_lines(transcript):
            data = line.get("data")
            if line.get("type") == "user.message" or member(data, "toolRequests"):
                break
            text = member(data, "content")
            if line.get("type") == "assistant.message" and isinstance(text, str) and text.strip():
                return text
        if not transcript:
            break
        time.sleep(_TRY_EVERY_S)
    return ""


def answer(event: str, context: str, message: str, reason: str) -> dict[str, object]:
    """The answer in Copilot's format. Copilot shows the user nothing and does not stop a turn."""
    del event, message, reason
    return {"additionalContext": context} if context else {}
