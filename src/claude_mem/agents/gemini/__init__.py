"""Gemini CLI's hooks: Claude Code's format with other names for events.

PreCompress is ignored: it is sent before every call of the model, whether anything is compressed or not.
"""

from __future__ import annotations

EVENTS = {
    "SessionStart": "SessionStart",
    "BeforeAgent": "UserPromptSubmit",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "SessionEnd": "SessionEnd",
}
KEYS = {"prompt_response": "last_assistant_message"}
AS_IS = frozenset(("AfterTool",))
INJECTION_EVENTS = frozenset(("SessionStart", "UserPromptSubmit", "PostToolUse"))


def read(event: str, payload: dict[str, object]) -> dict[str, object] | None:
    """Translates a payload. A turn's prompt is known when it ends, and is preceded by the injected start
    context."""
    typed = payload.get("prompt")
    if event == "UserPromptSubmit" and isinstance(typed, str) and typed.startswith("<hook_context>"):
        return payload | {"prompt": typed.partition("</hook_context>")[2].lstrip("\n")}
    if event == "Stop":
        return {key: value for key, value in payload.items() if key != "prompt"}
    return payload
