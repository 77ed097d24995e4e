"""What our plugin for OpenCode says (`plugin.js`): it is ours, so it speaks as Claude Code's hooks do."""

from __future__ import annotations

EVENTS = {
    name: name
    for name in (
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PostToolUse",
        "PostToolUseFailure",
        "Stop",
        "PostCompact",
    )
}
KEYS: dict[str, str] = {}
AS_IS = frozenset(("PostToolUse", "PostToolUseFailure"))
PLACES = frozenset(("SessionStart", "UserPromptSubmit", "PreToolUse"))
