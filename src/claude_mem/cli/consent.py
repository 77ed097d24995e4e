"""Asks before something is done that cannot be taken back."""

from __future__ import annotations

import sys

from claude_mem.cli import say
from claude_mem.cli.commands import USAGE, WRONG


def refused(question: str, what: str, *, yes: bool) -> int | None:
    """None: go on. Else the exit code to leave with: nobody was there to be asked, or the answer was no."""
    if yes:
        return None
    if not sys.stdin.isatty():
        say.talk(f"claude-mem: {what}; say --yes to do so without being asked.")
        return USAGE
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return None
    say.talk("Nothing was changed.")
    return WRONG
