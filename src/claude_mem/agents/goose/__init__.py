"""Goose's hooks, from its documentation: Claude Code's events, its own field names. No hook reports a tool's
output, and a hook's output does not reach the model.
"""

from __future__ import annotations

from claude_mem.hook import paths
from claude_mem.hook.translate import same

EVENTS = same("SessionStart UserPromptSubmit PostToolUse PostToolUseFailure Stop SessionEnd")
KEYS = {
    "message": "prompt",
    "working_dir": "cwd",
    "tool_call_id": "tool_use_id",
    "tool_output": "tool_response",
}
INJECTION_EVENTS: frozenset[str] = frozenset()
EDIT = {"before": "old_string", "after": "new_string"}
TOOL_PREFIX = "claude-mem__"


def read(event: str, payload: dict[str, object]) -> dict[str, object] | None:
    payload.pop("event", None)
    payload.pop("matcher_context", None)  # the prompt or the tool's name again
    if event == "UserPromptSubmit" and not payload.get("prompt"):
        return None
    if event == "SessionStart":
        payload.setdefault("source", "startup")
    tool, given = payload.get("tool_name"), payload.get("tool_input")
    if isinstance(tool, str) and tool.startswith(TOOL_PREFIX):
        payload["tool_name"] = f"mcp__{tool}"
    if isinstance(given, dict) and "before" in given and "after" in given:
        payload["tool_input"] = {EDIT.get(key, key): value for key, value in given.items()}
    if not payload.get("cwd"):  # Goose names it at a tool, and runs its hooks where it runs itself
        payload["cwd"] = paths.working_directory()
    return payload


def answer(event: str, context: str, message: str, reason: str) -> dict[str, object]:
    """The answer in Goose's format. Any other output of a turn's last hook would count as a failure."""
    del context, reason
    return {"banner": message} if message and event == "SessionStart" else {}
