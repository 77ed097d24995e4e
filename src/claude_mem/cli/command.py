"""What every command has: a purpose, an example, a function that runs it, an exit code."""

from __future__ import annotations

import argparse
import difflib
import signal
import sys
from collections.abc import Callable
from typing import Any

from claude_mem.model.errors import ClaudeMemError

OK, WRONG, USAGE = 0, 1, 2
ALIKE = 0.7  # how much a slip has of the word, for it to be that
UNREAD = 128 + signal.SIGPIPE  # nobody reads the output any more

Run = Callable[[argparse.Namespace], int]


class UsageError(ClaudeMemError):
    """What was typed makes no sense; `str()` says what to type."""


class Parser(argparse.ArgumentParser):
    """Says of an unknown command which one may be meant, instead of all there are."""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            close = difflib.get_close_matches(str(value), list(action.choices), 1, ALIKE)
            hint = f"did you mean {close[0]}?" if close else f"see: {self.prog} --help"
            raise UsageError(f"unknown command {str(value)!r}; {hint}")
        super()._check_value(action, value)


class Commands:
    """A level of the command line to which commands are added."""

    def __init__(self, subparsers: Any) -> None:  # argparse keeps the type to itself
        self._subparsers = subparsers
        self.purposes: dict[str, str] = {}

    def add(
        self, name: str, purpose: str, *, example: str, run: Run, more: str = ""
    ) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = self._subparsers.add_parser(
            name,
            help=purpose,
            description=f"{purpose[0].upper()}{purpose[1:]}." + (f"\n\n{more}" if more else ""),
            epilog="Example:\n" + "\n".join(f"  {line}" for line in example.splitlines()),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.set_defaults(run=run)
        self.purposes[name] = purpose
        return parser


def help_of(parser: argparse.ArgumentParser) -> int:
    """A level was named, but no command on it."""
    parser.print_help(sys.stderr)
    return USAGE


def slash_flag(parser: argparse.ArgumentParser) -> None:
    """Set by `claude-mem slash`: what to do next is said in words for /mem, not for a terminal."""
    parser.add_argument("--slash", action="store_true", help=argparse.SUPPRESS)


def json_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print data instead of prose")
