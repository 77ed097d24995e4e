"""What Claude Code is told to run: our hooks and our MCP server, for one machine."""

from __future__ import annotations

import ast
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claude_mem.agents import CLAUDE_CODE

SERVER = "claude-mem"
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
ASKED = {"PreToolUse": "Read|Edit|MultiEdit|Write|NotebookEdit"}
"""Recorded is what comes after a tool; before one, the agent is told what is known of the file it names."""
TIMEOUT_S = 10  # the hook itself gives up after 8; without one the client allows SessionEnd 1.5 s

MARK = "from claude_mem.hook.entry import main"
_OLD_MARKS = ("from claude_mem.capture.entry import main", "claude_mem/capture/hook.py")
_LAUNCHER = (
    "import posix, sys; sys.path.insert(0, {package}); {place}"
    f"sys.excepthook = lambda *_: ({{otherwise}}posix._exit(0)); {MARK}; main(*sys.argv[1:3])"
)
"""One line: the client shows a compaction's hooks to the user, program and all."""
_PLACE = 'posix.environ.setdefault(b"CLAUDE_MEM_DATA_DIR", {data_dir}); '
_PLACED = re.compile(r"""setdefault\(b"CLAUDE_MEM_DATA_DIR", (b'(?:[^'\\]|\\.)*'|b"(?:[^"\\]|\\.)*")\)""")
_BRIDGE = "claude_mem/cli/bridge/stdio.py"
_GONE = (
    '{"systemMessage": "claude-mem is not recording: its program is gone or broken, but Claude Code still '
    "runs its hooks. Install it again (then claude-mem uninstall takes them out), or remove them with "
    '/plugin or in settings.json."}'
)


@dataclass(frozen=True, slots=True)
class Machine:
    """Where things lie here; all absolute, so that no PATH and no project can put another in the way."""

    interpreter: str
    package: str  # the directory that holds the package
    data_dir: str | None  # None: the default, which a hook finds by itself


def here(data_dir: str | None = None) -> Machine:
    """The interpreter and the package that run this."""
    return Machine(sys.executable, str(Path(__file__).resolve().parents[3]), data_dir)


def launcher(machine: Machine, verb: str = "hook") -> str:
    """The program of every hook. On the command line and not in a file: Python leaves with 2 when a script is
    gone, and to the client that means "block the user's prompt". Only a session's start tells that we are."""
    otherwise = f"posix.write(1, {_GONE.encode()!a}), " if verb == "context" else ""
    place = _PLACE.format(data_dir=ascii(os.fsencode(machine.data_dir))) if machine.data_dir else ""
    return _LAUNCHER.format(package=ascii(machine.package), place=place, otherwise=otherwise)


def hook(machine: Machine, verb: str = "hook", agent: str = CLAUDE_CODE) -> list[str]:
    """-I keeps the project's own modules out, -S saves the site-packages scan."""
    return [machine.interpreter, "-I", "-S", "-c", launcher(machine, verb), verb, agent]


def hooks(machine: Machine) -> dict[str, list[dict[str, Any]]]:
    """Exec form: no shell between the client and the interpreter."""

    def entry(verb: str) -> dict[str, Any]:
        command, *args = hook(machine, verb)
        return {"type": "command", "command": command, "args": args, "timeout": TIMEOUT_S}

    recorded = {event: [{"hooks": [entry(VERBS.get(event, "hook"))]}] for event in RECORDED}
    asked = {event: [{"matcher": tools, "hooks": [entry("hook")]}] for event, tools in ASKED.items()}
    return recorded | asked


def server(machine: Machine) -> dict[str, Any]:
    """The bridge between the client and the worker's MCP."""
    script = f"{machine.package}/{_BRIDGE}"
    entry: dict[str, Any] = {
        "type": "stdio",
        "command": machine.interpreter,
        "args": ["-I", "-S", script],
    }
    return entry | ({"env": {"CLAUDE_MEM_DATA_DIR": machine.data_dir}} if machine.data_dir else {})


def is_ours(hook: object) -> bool:
    """A hook's entry that an install of ours wrote, of this version or of an older one."""
    return any(mark in arg for mark in (MARK, *_OLD_MARKS) for arg in _args(hook))


def is_our_server(entry: object) -> bool:
    """An MCP server's entry that an install of ours wrote."""
    return any(arg.endswith(_BRIDGE) for arg in _args(entry))


def data_dir_of(hook: object) -> str | None:
    """Where a hook of ours was told to record; None: the default."""
    for arg in _args(hook):
        if found := _PLACED.search(arg):
            return os.fsdecode(ast.literal_eval(found[1]))
    return None


def _args(entry: object) -> list[str]:
    args = entry.get("args") if isinstance(entry, dict) else None
    return [arg for arg in args if isinstance(arg, str)] if isinstance(args, list) else []


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
