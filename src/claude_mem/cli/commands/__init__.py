"""The command line: a table of all commands, of which only the one that was typed is imported.

A command's module has a function `add`, which adds its parser (or several) to `Commands`. The help of a
command is the docstring of the function that runs it: what the table does not say, and examples.
"""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys

from claude_mem import __version__
from claude_mem.model.errors import ClaudeMemError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

OK, WRONG, USAGE = 0, 1, 2
UNREAD = 128 + signal.SIGPIPE  # the reader of our output has gone
ELSEWHERE = {"status": "`claude-mem doctor` or `claude-mem worker status`"}
"""The right command for words that are similar to the name of another one."""
ALIKE = 0.7  # how similar a mistyped command must be to be suggested
NAME_WIDTH = 12
WIDEST = 80  # of the sentences in a help

GROUPS = {  # heading: name: (module, as an import here names it; purpose)
    "Connect": {
        "install": ("..install", "connect claude-mem to your coding agents: hooks, MCP server, /mem"),
        "uninstall": ("..install", "disconnect from your coding agents and restore their settings"),
        "doctor": ("..doctor", "check that recording and recall work, and say how to fix problems"),
        "repair": (".repair", "repair an installation: hooks, plugin, permissions, sockets, settings"),
        "off": (".on_off", "pause: record nothing and inject nothing until `claude-mem on`"),
        "on": (".on_off", "end a pause: record and recall again"),
        "config": (".config", "list, get or set settings"),
        "embedder": (".config", "choose the embedding model for semantic search"),
    },
    "Find and read": {
        "search": (".lookup", "search memory in your own words"),
        "timeline": (".lookup", "show what happened before and after a memory, a session or a time"),
        "show": (".lookup", "show memories in full, or a session from its first prompt to its summary"),
        "sessions": (".lookup", "list sessions, newest first"),
        "file": (".lookup", "show a file's history across sessions: what changed, and why"),
        "context": (".hooks", "print what the next session here will start with; hook: SessionStart"),
        "open": (".worker_process", "open the viewer in a browser, signed in"),
        "stats": (".stats", "show how much was captured, observed and injected, and what it cost"),
    },
    "Correct": {
        "remember": (".corrections", "save a memory"),
        "pin": (".corrections", "pin memories, so that every session in their project starts with them"),
        "forget": (".corrections", "delete memories permanently, including from indexes and backups"),
        "projects": (".project_list", "list projects; rename, merge or remove one"),
    },
    "Team": {
        "join": (".team_sharing", "join a team's server, to share memory with other people or machines"),
        "share": (".team_sharing", "share a project's memory with the team"),
        "unshare": (".team_sharing", "stop sharing a project"),
        "team": (".team_sharing", "show what you share with the team, and what is waiting; manage the team"),
        "server": (".server_setup", "set up, run and manage a team's server"),
        "leave": (".team_sharing", "leave the team and delete your memory from its server"),
    },
    "Import and export": {
        "backfill": ("..backfill", "import past sessions from transcripts, and commits from git"),
        "adopt": (".adopt", "import memory from the TypeScript claude-mem or other tools"),
        "export": (".export_import", "export memory to a file: all of it, or a selection"),
        "import": (".export_import", "import a file written by `export`, or observations from elsewhere"),
    },
    "Maintain": {
        "worker": (".worker_process", "start, stop and monitor the worker"),
        "queue": (".maintenance", "list events that are waiting or have failed; retry or drop failed ones"),
        "backup": (".maintenance", "back up the database now and print the path of the backup"),
        "restore": (".maintenance", "replace the database with a backup"),
        "gc": (".maintenance", "delete expired data and reclaim disk space"),
    },
    "More": {
        "demo": ("..demo", "replay a recorded session and show the result"),
        "help": (".help", "show help for a command"),
        "completion": (".help", "print a completion script for bash, zsh or fish"),
        "version": (".help", "print version information"),
    },
    "Run by coding agents, or for a manual setup": {
        "hooks": (".hooks", "print the hooks for an agent's settings"),
        "mcp": (".hooks", "run an MCP server on stdin and stdout"),
        "statusline": ("..status", "print one line for Claude Code's status line"),
        "slash": (".slash", "answer Claude Code's /mem command"),
        "token": (".worker_process", "print the token that the worker's port requires"),
        "new": (".hooks", "hook: record a prompt (UserPromptSubmit)"),
        "save": (".hooks", "hook: record a tool call (PostToolUse)"),
        "summary": (".hooks", "hook: record the end of a turn (Stop)"),
        "cleanup": (".hooks", "hook: record the end of a session (SessionEnd)"),
        "hook": (".hooks", "hook: record the event named by hook_event_name"),
    },
}
COMMANDS = {name: row for group in GROUPS.values() for name, row in group.items()}


class UsageError(ClaudeMemError):
    """The command line is invalid; `str()` says what to type."""


class Formatter(argparse.RawDescriptionHelpFormatter):
    """argparse asks for the terminal's width at every argument, with a module as large as argparse itself."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=terminal_width() - 2)


class Parser(argparse.ArgumentParser):
    """Of one command. It suggests the subcommand that may be meant, instead of listing all there are."""

    purpose = more = example = ""  # as `Commands.add` has them

    @property
    def sentence(self) -> str:
        return f"{self.purpose[0].upper()}{self.purpose[1:]}."

    def flag(self, name: str, help: str, **more: Any) -> None:
        self.add_argument(name, action="store_true", help=help, **more)

    def argument(self, name: str, metavar: str, help: str | None = None, **more: Any) -> None:
        """A value: an option, or a positional one if its name has no dash."""
        self.add_argument(name, metavar=metavar, help=help, **more)

    def subcommands(self, title: str = "commands") -> Commands:
        return Commands(self.add_subparsers(title=title, metavar="COMMAND"))

    def format_help(self) -> str:
        """Paragraphs are fitted to the terminal; indented lines stay as they are."""
        from inspect import cleandoc
        from textwrap import dedent, fill, indent

        if self.purpose:  # the first level says what it has to say itself
            document = self.more or cleandoc(self.get_default("run").__doc__ or "")
            text, _, example = document.partition("Example:\n")
            paragraphs = [self.sentence, *text.strip().split("\n\n")]
            width = min(WIDEST, terminal_width())
            fitted = (
                each if "\n " in f"\n{each}" else fill(each, width, break_on_hyphens=False)
                for each in paragraphs
            )
            self.description = "\n\n".join(fitted).rstrip()
            self.epilog = "Example:\n" + indent(self.example or dedent(example).rstrip() or self.prog, "  ")
        return super().format_help()

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            raise unknown("command", str(value), action.choices, f"{self.prog} --help")
        super()._check_value(action, value)


class Commands:
    """One level of the command line, to which commands are added."""

    def __init__(self, subparsers: Any) -> None:  # argparse keeps the type to itself
        self._subparsers = subparsers

    def add(
        self, name: str, purpose: str = "", *, run: Run, more: str = "", example: str = "", json: bool = True
    ) -> Parser:
        """Without a purpose it is the one in the table. `more` and `example`: if the docstring of `run` does
        not say it. The example is otherwise the command alone. `json`: it has the flag --json."""
        purpose = purpose or COMMANDS[name][1]
        parser: Parser = self._subparsers.add_parser(
            name, help=purpose, formatter_class=Formatter, allow_abbrev=False
        )
        parser.purpose, parser.more, parser.example = purpose, more, example
        parser.set_defaults(run=run, parser=parser)
        if json:
            parser.flag("--json", "print JSON")
        return parser

    def group(self, name: str, purpose: str = "", *, example: str, more: str = "") -> Commands:
        """A command that only has subcommands."""
        parser = self.add(
            name, purpose, run=lambda _: help_of(parser), more=more, example=example, json=False
        )
        return parser.subcommands()


def run(arguments: list[str]) -> int:
    """Runs one command. Every error becomes a sentence on stderr and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(
                errors="replace"
            )  # a character that the terminal cannot show must not fail the command
    try:
        parsed, unread = build(arguments[:1]).parse_known_args(arguments)
        if unread:
            raise _unread(parsed.parser, unread[0])
        code: int = parsed.run(parsed)
        sys.stdout.flush()  # here, where a closed pipe is still caught
    except BrokenPipeError:
        # The reader has gone (`| head`). Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return UNREAD
    except UsageError as error:
        return _explain(str(error), USAGE)
    except ClaudeMemError as error:
        return _explain(str(error), WRONG)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return _explain(f"{error.strerror or error}{where}", WRONG)
    return code


def build(names: Iterable[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of these commands; what is no command may be an option. Raises UsageError."""
    parser = Parser(
        prog="claude-mem",
        usage="claude-mem [-h] [--version] COMMAND ...",
        description="Persistent memory for your coding agent.",
        epilog=(
            "Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted.\n"
            "Results go to stdout, messages to stderr.\n\n"
            "Example:\n  claude-mem doctor"
        ),
        formatter_class=Formatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"claude-mem {__version__}")
    parser.set_defaults(run=lambda _: help_of(parser), parser=parser)
    commands = Commands(parser.add_subparsers(prog="claude-mem", metavar="COMMAND", help=argparse.SUPPRESS))
    requested = [name for name in names if not name.startswith("-")]
    for name in requested:
        if name not in COMMANDS:
            raise unknown("command", name, COMMANDS, f"{parser.prog} --help")
    for module in dict.fromkeys(COMMANDS[name][0] for name in requested):
        importlib.import_module(module, __name__).add(commands)
    if len(requested) != 1:  # of one command nobody sees this list
        for heading, group in GROUPS.items():
            parser.add_argument_group(heading, _listed(group))
    return parser


def terminal_width() -> int:
    """In columns: $COLUMNS, the terminal's width, or 80."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


def help_of(parser: argparse.ArgumentParser) -> int:
    """The help of a command group that was typed without a subcommand."""
    parser.print_help(sys.stderr)
    return USAGE


def slash_flag(parser: Parser) -> None:
    """Set by `claude-mem slash`: hints are worded for /mem, not for a terminal."""
    parser.flag("--slash", argparse.SUPPRESS)


def change_flags(parser: Parser, change: str) -> None:
    """Flags of a command that shows what it would change and asks for confirmation."""
    parser.flag("--dry-run", f"show what would {change}, and stop")
    yes_flag(parser)


def yes_flag(parser: Parser) -> None:
    parser.flag("--yes", "do not ask for confirmation")


def _listed(commands: dict[str, tuple[str, str]]) -> str:
    import textwrap

    room = max(40, terminal_width() - NAME_WIDTH - 4)
    lines = []
    for name, (_, purpose) in commands.items():
        first, *rest = textwrap.wrap(purpose, room, break_on_hyphens=False)
        lines += [f"{name:<{NAME_WIDTH}}{first}", *(" " * NAME_WIDTH + line for line in rest)]
    return "\n".join(lines)


def unknown(kind: str, name: str, known: Iterable[str], see: str) -> UsageError:
    """The error for a name that does not exist, with the most similar one that does."""
    import difflib

    close = [ELSEWHERE[name]] if name in ELSEWHERE else difflib.get_close_matches(name, list(known), 1, ALIKE)
    hint = f"Did you mean {close[0]}?" if close else f"See: {see}"
    return UsageError(f"Unknown {kind} {name!r}. {hint}")


def _unread(parser: argparse.ArgumentParser, argument: str) -> UsageError:
    name = argument.partition("=")[0]
    if name.startswith("-"):
        return unknown("option", name, parser._option_string_actions, f"{parser.prog} --help")
    return UsageError(f"Unexpected argument {argument!r}. See: {parser.prog} --help")


def _explain(sentence: str, code: int) -> int:
    print(f"claude-mem: {sentence}", file=sys.stderr)
    return code


if TYPE_CHECKING:
    Run = Callable[[argparse.Namespace], int]
