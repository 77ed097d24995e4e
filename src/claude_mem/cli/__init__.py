"""What a person types. One file per noun.

A hook typed as a command (`claude-mem save`) is still a hook: it is sent on its way before anything else.
So is `claude-mem mcp`, of which a client keeps one for every session.
"""

from __future__ import annotations

import posix
import sys

HOOK_VERBS = ("context", "new", "save", "summary", "cleanup", "hook")


def main(argv: list[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if arguments and arguments[0] in HOOK_VERBS and not _is_typed(arguments):
        from claude_mem.capture.entry import main as hook

        hook(arguments[0])  # does not return
    if arguments == ["mcp"] and not posix.isatty(0):
        from claude_mem.cli.bridge.loop import main as bridge

        bridge()  # does not return
    from claude_mem.cli.run import run

    return run(arguments)


def _is_typed(arguments: list[str]) -> bool:
    """Nobody types a payload: a hook whose standard input is a terminal was started by someone curious. And
    nobody but a person has a wish about the context."""
    wishes = arguments[0] == "context" and len(arguments) > 1
    return wishes or "-h" in arguments or "--help" in arguments or posix.isatty(0)
