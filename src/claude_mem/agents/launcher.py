"""The command lines with which an agent runs our programs: the hook, and the bridge to the worker's MCP."""

from __future__ import annotations

import ast
import importlib
import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

from msgspec import Struct

from claude_mem import __version__
from claude_mem.agents import CLAUDE_CODE, FOLDERS
from claude_mem.hook.translate import as_claude_code

SERVER = "claude-mem"
PLUGIN = "mem"  # the client reserves names that begin with "claude-" for its makers'

MARK = "from claude_mem.hook.entry import main"
_OLD_MARKS = ("from claude_mem.capture.entry import main", "claude_mem/capture/hook.py")
_LAUNCHER = (
    "import posix, sys; sys.path.insert(0, {package}); {place}"
    f"sys.excepthook = lambda *_: ({{otherwise}}posix._exit(0)); {MARK}; main(*sys.argv[1:4])"
)
"""One line: Claude Code shows a compaction's hooks to the user, program and all."""
_PLACE = 'posix.environ.setdefault(b"CLAUDE_MEM_DATA_DIR", {data_dir}); '
_PLACED = re.compile(r"""setdefault\(b"CLAUDE_MEM_DATA_DIR", (b'(?:[^'\\]|\\.)*'|b"(?:[^"\\]|\\.)*")\)""")
_BRIDGE = "claude_mem/cli/bridge/stdio.py"
_STARTS = ("context", "setup", "sessionStart", "SessionStart")
"""The verbs of hooks that run when a session starts."""
_MISSING = (
    "claude-mem is not recording: its program is missing or broken, but Claude Code still "
    "runs its hooks. Reinstall it (claude-mem uninstall then removes them), or remove them with "
    "/plugin or in settings.json."
)
_MISSING_OTHER = (
    "claude-mem is not recording: its program is missing or broken, but its hooks still "
    "run. Reinstall it; claude-mem uninstall then removes them."
)


class Machine(Struct, frozen=True):
    """Paths on this machine; all absolute, so that neither the PATH nor a project can substitute others."""

    interpreter: str
    package: str  # the directory that holds the package
    data_dir: str | None  # None: the default, which a hook finds by itself


def this_machine(data_dir: str | None = None) -> Machine:
    """The interpreter and the package that run this process."""
    return Machine(sys.executable, str(Path(__file__).resolve().parents[2]), data_dir)


def hook_program(machine: Machine, verb: str = "hook", agent: str = CLAUDE_CODE) -> str:
    """The program of every hook. It is on the command line, not in a file: Python exits with 2 if a script is
    missing, which the client takes as "block the user's prompt". Only a session's start reports a missing
    program."""
    missing = _missing_answer(verb, agent)
    otherwise = f"posix.write(1, {missing.encode()!a}), " if missing else ""
    place = _PLACE.format(data_dir=ascii(os.fsencode(machine.data_dir))) if machine.data_dir else ""
    return _LAUNCHER.format(package=ascii(machine.package), place=place, otherwise=otherwise)


def hook_command(machine: Machine, verb: str = "hook", agent: str = CLAUDE_CODE) -> list[str]:
    """-I keeps the project's own modules out, -S avoids the site-packages scan. With a version, a hook of
    Claude Code's can report that the program's version differs. An agent whose user has to trust each command
    gets one without a version, so that it stays the same."""
    program = hook_program(machine, verb, agent)
    version = [__version__] if agent == CLAUDE_CODE else []
    return [machine.interpreter, "-I", "-S", "-c", program, verb, agent, *version]


def hook_line(machine: Machine, verb: str = "hook", agent: str = CLAUDE_CODE) -> str:
    """The same as a self-contained shell command: some agents only support commands, or run the hooks in
    another agent's settings. The shell executes the interpreter; if that is missing, it exits with 0, and a
    session's start reports it."""
    words, missing = hook_command(machine, verb, agent), _missing_answer(verb, agent)
    otherwise = f"echo {shlex.quote(missing)}; " if missing else ""
    return f"[ -x {shlex.quote(words[0])} ] && exec {shlex.join(words)}; {otherwise}exit 0"


def _missing_answer(verb: str, agent: str) -> str:
    """The answer of a session's start, in the agent's format: to its user or, if that is not possible, to its
    model. "": this hook does not answer."""
    if verb not in _STARTS:
        return ""
    if agent == CLAUDE_CODE:
        return json.dumps({"systemMessage": _MISSING})
    dialect = importlib.import_module(f"claude_mem.agents.{FOLDERS[agent]}")
    shape = getattr(dialect, "answer", as_claude_code)
    answer = shape("SessionStart", "", _MISSING_OTHER, "") or shape("SessionStart", _MISSING_OTHER, "", "")
    return json.dumps(answer)


STDIO = {"type": "stdio"}
"""The type that some agents require in an MCP server's entry."""


def mcp_server(machine: Machine) -> dict[str, Any]:
    """The bridge between the client and the worker's MCP."""
    script = f"{machine.package}/{_BRIDGE}"
    entry: dict[str, Any] = {"command": machine.interpreter, "args": ["-I", "-S", script]}
    return entry | ({"env": {"CLAUDE_MEM_DATA_DIR": machine.data_dir}} if machine.data_dir else {})


def is_our_hook(hook: object) -> bool:
    """Whether an entry is a hook that claude-mem installed, in this version or an older one."""
    return any(mark in arg for mark in (MARK, *_OLD_MARKS) for arg in _args(hook)) or any(
        MARK in line for line in _lines(hook)
    )


def is_named_in(text: str) -> bool:
    """Whether a file's text may contain one of our hooks or servers."""
    return any(mark in text for mark in (MARK, *_OLD_MARKS, _BRIDGE))


def is_our_server(entry: object) -> bool:
    """Whether an entry is an MCP server that claude-mem installed."""
    return any(arg.endswith(_BRIDGE) for key in ("args", "command") for arg in _args(entry, key))


def data_dir_of(hook: object) -> str | None:
    """The data directory of one of our hooks; None: the default."""
    words = [word for line in _lines(hook) if MARK in line for word in shlex.split(line)]
    return next((place for word in (*_args(hook), *words) if (place := data_dir_in(word))), None)


def data_dir_in(program: str) -> str | None:
    """The data directory that a hook's program uses; None: the default."""
    found = _PLACED.search(program)
    return os.fsdecode(ast.literal_eval(found[1])) if found else None


def _lines(entry: object) -> list[str]:
    """What a hook's entry has a shell run."""
    lines = [entry.get(key) for key in ("command", "bash")] if isinstance(entry, dict) else []
    return [line for line in lines if isinstance(line, str)]


def _args(entry: object, key: str = "args") -> list[str]:
    args = entry.get(key) if isinstance(entry, dict) else None
    return [arg for arg in args if isinstance(arg, str)] if isinstance(args, list) else []
