"""Codex's hooks: Claude Code's format, except that a turn has an id and a patch is a command."""

from __future__ import annotations

from claude_mem.hook.translate import same

EVENTS = same(
    "SessionStart UserPromptSubmit PreToolUse PostToolUse SubagentStop PreCompact PostCompact Stop SessionEnd"
)
KEYS = {"turn_id": "prompt_id"}
AS_IS = frozenset(("PostToolUse",))
INJECTION_EVENTS = frozenset(("SessionStart", "UserPromptSubmit", "PreToolUse"))
WITHIN_S = {"SessionEnd": 2.5}  # it ends such a hook after three seconds, whatever its settings say

_FILES = ("*** Update File: ", "*** Add File: ", "*** Delete File: ")


def read(event: str, payload: dict[str, object]) -> dict[str, object] | None:
    """Before a patch, the history of the first file that it changes is queried."""
    given = payload.get("tool_input")
    if event == "PreToolUse" and payload.get("tool_name") == "apply_patch" and isinstance(given, dict):
        patch = given.get("command") or given.get("input")
        for line in patch.splitlines() if isinstance(patch, str) else ():
            if line.startswith(_FILES):
                return payload | {"tool_input": {"file_path": line.partition(": ")[2].strip()}}
    return payload
