"""What a person types. One file per noun.

A hook typed as a command (`claude-mem save`) is still a hook: it is sent on its way before anything else.
"""

from __future__ import annotations

import posix
import sys

HOOK_VERBS = ("context", "new", "save", "summary", "cleanup", "hook")


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if arguments and arguments[0] in HOOK_VERBS and not _asks_for_help(arguments):
        from claude_mem.capture.entry import main as hook

        hook(arguments[0])  # does not return
    from claude_mem.cli.run import run

    return run(arguments)


def _asks_for_help(arguments: list[str]) -> bool:
    """Nobody types a payload: a hook whose standard input is a terminal was started by someone curious."""
    return "-h" in arguments or "--help" in arguments or posix.isatty(0)
