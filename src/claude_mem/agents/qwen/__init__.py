"""Qwen Code's hooks: Claude Code's format, and an empty prompt after each tool."""

from __future__ import annotations

from claude_mem.hook.translate import same

EVENTS = same(
    "SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop SubagentStop PreCompact SessionEnd"
)
AS_IS = frozenset(("PostToolUse", "PostToolUseFailure"))
INJECTION_EVENTS = frozenset(("SessionStart", "UserPromptSubmit", "PostToolUse"))


def read(event: str, payload: dict[str, object]) -> dict[str, object] | None:
    """Drops prompts that no user typed: they would end a private turn."""
    if event == "UserPromptSubmit" and not payload.get("prompt"):
        return None
    return {key: value for key, value in payload.items() if key != "submitted_prompt"}  # the same again
