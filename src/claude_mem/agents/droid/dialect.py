"""What Factory droid's hooks say: Claude Code's words. `droid exec` reports no prompt."""

from __future__ import annotations

EVENTS = {
    name: name
    for name in (
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "Stop",
        "SubagentStop",
        "PreCompact",
        "SessionEnd",
    )
}
KEYS: dict[str, str] = {}
PLACES = frozenset(("SessionStart", "PostToolUse"))
