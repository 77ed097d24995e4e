"""Recognises another claude-mem in the client's settings: two memories would record everything twice."""

from __future__ import annotations

from typing import Any

from claude_mem.clients.claude_code import connection

_SIGNS = (
    "worker-service.cjs",
    "bun-runner.js",
    "claude-mem/scripts/",
    "claude-mem/plugin/",
    "claude-mem hook ",
)


def is_anothers(hook: object) -> bool:
    """A hook's entry of the TypeScript claude-mem, as its installers of several ages wrote it."""
    if not isinstance(hook, dict) or connection.is_ours(hook):
        return False
    args = hook.get("args")
    words = [hook.get("command"), *(args if isinstance(args, list) else [])]
    said = " ".join(word for word in words if isinstance(word, str))
    return any(sign in said for sign in _SIGNS)


def plugins(settings: dict[str, Any]) -> list[str]:
    """Plugins by our name that are switched on; ours has another."""
    return [
        name
        for name, on in settings.get("enabledPlugins", {}).items()
        if on and name.split("@")[0] == "claude-mem"
    ]


def hooks(settings: dict[str, Any]) -> int:
    """How many hooks of another claude-mem are in these settings."""
    return sum(
        is_anothers(hook)
        for groups in settings.get("hooks", {}).values()
        for group in groups
        for hook in group.get("hooks", [])
    )
