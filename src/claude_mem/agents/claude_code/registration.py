"""The hooks registered with Claude Code, in its settings or as a plugin; and those of another claude-mem."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from claude_mem.agents import hook_payload, launcher
from claude_mem.agents.launcher import PLUGIN, Machine, is_our_hook
from claude_mem.agents.settings_file import all_hooks

PORTABLE = "${CLAUDE_PLUGIN_ROOT}/bin/claude-mem"
RECORDED = tuple(hook_payload.KINDS)
VERBS = {"SessionStart": "context", "PreCompact": "compact", "PostCompact": "compact", "Setup": "setup"}
"""The verbs of events with a special answer."""
RECALLED = {"PreToolUse": "Read|Edit|MultiEdit|Write|NotebookEdit|Bash"}
"""Events before a tool, at which what is known about its file or command is injected. Nothing is recorded."""
CHECKED = ("Setup",)
"""Events at which only the versions of the plugin and the program are compared. Nothing is recorded."""
TIMEOUT_S = 10  # the hook itself gives up after 8; without one the client allows SessionEnd 1.5 s


def hooks(machine: Machine) -> dict[str, list[dict[str, Any]]]:
    """As they stand in a settings file, which other agents read as well and know only commands from."""
    return _hooks(lambda verb: {"command": launcher.hook_line(machine, verb)})


def plugin_hooks(machine: Machine) -> dict[str, list[dict[str, Any]]]:
    """Exec form: no shell between Claude Code, which alone reads them, and the interpreter."""

    def entry(verb: str) -> dict[str, Any]:
        command, *args = launcher.hook_command(machine, verb)
        return {"command": command, "args": args}

    return _hooks(entry)


def portable_hooks() -> dict[str, list[dict[str, Any]]]:
    """The hooks in `plugin/hooks/hooks.json`, for installing the plugin from the repository: a script of the
    plugin finds the program."""
    return _hooks(lambda verb: {"command": f'[ -f "{PORTABLE}" ] && exec sh "{PORTABLE}" {verb}; exit 0'})


def _hooks(command_of: Callable[[str], dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    def entry(verb: str) -> dict[str, Any]:
        return {"type": "command"} | command_of(verb) | {"timeout": TIMEOUT_S}

    recorded = {event: [{"hooks": [entry(VERBS.get(event, "hook"))]}] for event in (*RECORDED, *CHECKED)}
    recalled = {event: [{"matcher": tools, "hooks": [entry("hook")]}] for event, tools in RECALLED.items()}
    return recorded | recalled


# Recognizes another claude-mem in the client's settings: two would record everything twice.

_SIGNS = (
    "worker-service.cjs",
    "bun-runner.js",
    "claude-mem/scripts/",
    "claude-mem/plugin/",
    "claude-mem hook ",
)


def is_foreign_hook(hook: object) -> bool:
    """Whether it is a hook entry of the TypeScript claude-mem, as any of its installers wrote it."""
    if not isinstance(hook, dict) or is_our_hook(hook):
        return False
    args = hook.get("args")
    words = [hook.get("command"), *(args if isinstance(args, list) else [])]
    command = " ".join(word for word in words if isinstance(word, str))
    return any(sign in command for sign in _SIGNS)


def foreign_plugins(settings: dict[str, Any]) -> list[str]:
    """Enabled plugins named claude-mem; ours has another name."""
    plugins = settings.get("enabledPlugins", {}).items()
    return [name for name, on in plugins if on and name.split("@")[0] == "claude-mem"]


def foreign_hooks(settings: dict[str, Any]) -> int:
    return sum(map(is_foreign_hook, all_hooks(settings)))


def foreign(settings: dict[str, Any]) -> str:
    """Another claude-mem in these settings, in words; "" if there is none."""
    count = foreign_hooks(settings)
    return ", ".join(
        [*foreign_plugins(settings), *([f"{count:,} hook{'s' if count > 1 else ''}"] if count else [])]
    )


# The plugin for one machine: the texts in `plugin/`, with hooks and MCP server that name its interpreter.

MARKETPLACE = "claude-mem-py"
PLUGIN_ID = f"{PLUGIN}@{MARKETPLACE}"
PLUGIN_ROOT = f"plugins/{PLUGIN}"


def marketplace(texts: Mapping[str, str], machine: Machine, command: str, version: str) -> dict[str, str]:
    """All files of a marketplace that holds the one plugin, by their paths in it."""
    own = {path: fill_in(text, command) for path, text in texts.items() if not path.startswith("bin/")}
    description = json.loads(own[".claude-plugin/plugin.json"])["description"]
    own |= {
        "hooks/hooks.json": _json({"description": description, "hooks": plugin_hooks(machine)}),
        ".mcp.json": _json({"mcpServers": {launcher.SERVER: launcher.STDIO | launcher.mcp_server(machine)}}),
    }
    plugin = {"name": PLUGIN, "source": f"./{PLUGIN_ROOT}", "version": version, "description": description}
    offer = {
        "name": MARKETPLACE,
        "description": "claude-mem, as it was installed on this machine.",
        "owner": {"name": MARKETPLACE},
        "plugins": [plugin],
    }
    return {".claude-plugin/marketplace.json": _json(offer)} | {
        f"{PLUGIN_ROOT}/{path}": text for path, text in sorted(own.items())
    }


def fill_in(text: str, command: str) -> str:
    """A text of `plugin/` with what only this machine knows: `command` runs claude-mem in a shell."""
    return text.replace(f'sh "{PORTABLE}"', command)


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
