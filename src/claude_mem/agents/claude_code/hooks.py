"""The hooks registered with Claude Code, in its settings or as a plugin; and those of another claude-mem."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from claude_mem.agents import launcher
from claude_mem.agents.launcher import Machine, hook_command, is_ours

RECORDED = (
    "SessionStart",
    "UserPromptSubmit",
    "PostToolUse",
    "PostToolUseFailure",
    "Stop",
    "StopFailure",
    "SubagentStop",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
)
VERBS = {"SessionStart": "context", "PreCompact": "compact", "PostCompact": "compact"}
"""Those that answer otherwise than the rest."""
RECALLED = {"PreToolUse": "Read|Edit|MultiEdit|Write|NotebookEdit"}
"""Recorded is what comes after a tool; before one, the agent is told what is known of the file it names."""
TIMEOUT_S = 10  # the hook itself gives up after 8; without one the client allows SessionEnd 1.5 s


def hooks(machine: Machine) -> dict[str, list[dict[str, Any]]]:
    """Exec form: no shell between the client and the interpreter."""

    def entry(verb: str) -> dict[str, Any]:
        command, *args = hook_command(machine, verb)
        return {"type": "command", "command": command, "args": args, "timeout": TIMEOUT_S}

    recorded = {event: [{"hooks": [entry(VERBS.get(event, "hook"))]}] for event in RECORDED}
    asked = {event: [{"matcher": tools, "hooks": [entry("hook")]}] for event, tools in RECALLED.items()}
    return recorded | asked


# Recognises another claude-mem in the client's settings: two memories would record everything twice.


_SIGNS = (
    "worker-service.cjs",
    "bun-runner.js",
    "claude-mem/scripts/",
    "claude-mem/plugin/",
    "claude-mem hook ",
)


def is_foreign_hook(hook: object) -> bool:
    """A hook's entry of the TypeScript claude-mem, as its installers of several ages wrote it."""
    if not isinstance(hook, dict) or is_ours(hook):
        return False
    args = hook.get("args")
    words = [hook.get("command"), *(args if isinstance(args, list) else [])]
    said = " ".join(word for word in words if isinstance(word, str))
    return any(sign in said for sign in _SIGNS)


def foreign_plugins(settings: dict[str, Any]) -> list[str]:
    """Plugins by our name that are switched on; ours has another."""
    return [
        name
        for name, on in settings.get("enabledPlugins", {}).items()
        if on and name.split("@")[0] == "claude-mem"
    ]


def foreign_hooks(settings: dict[str, Any]) -> int:
    """How many hooks of another claude-mem are in these settings."""
    return sum(
        is_foreign_hook(hook)
        for groups in settings.get("hooks", {}).values()
        for group in groups
        for hook in group.get("hooks", [])
    )


# The plugin for one machine: the texts in `plugin/`, with hooks and MCP server that name its interpreter.


PLUGIN = "mem"  # the client reserves names that begin with "claude-" for its makers'
MARKETPLACE = "claude-mem-py"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"
PLUGIN_ROOT = f"plugins/{PLUGIN}"


def marketplace(texts: Mapping[str, str], machine: Machine, command: str, version: str) -> dict[str, str]:
    """All files of a marketplace that holds the one plugin, by their paths in it."""
    own = {path: fill_in(text, command, version) for path, text in texts.items()}
    described = json.loads(own[".claude-plugin/plugin.json"])["description"]
    own |= {
        "hooks/hooks.json": _json({"description": described, "hooks": hooks(machine)}),
        ".mcp.json": _json({"mcpServers": {launcher.SERVER: launcher.mcp_server(machine)}}),
    }
    offered = {"name": PLUGIN, "source": f"./{PLUGIN_ROOT}", "version": version, "description": described}
    sold = {
        "name": MARKETPLACE,
        "description": "claude-mem, as it was installed on this machine.",
        "owner": {"name": MARKETPLACE},
        "plugins": [offered],
    }
    return {".claude-plugin/marketplace.json": _json(sold)} | {
        f"{PLUGIN_ROOT}/{path}": text for path, text in sorted(own.items())
    }


def fill_in(text: str, command: str, version: str) -> str:
    """A text of `plugin/` with what only this machine knows: `command` runs claude-mem in a shell."""
    return text.replace("{{claude-mem}}", command).replace("{{version}}", version)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
