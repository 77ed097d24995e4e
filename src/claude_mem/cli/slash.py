"""`claude-mem slash`: what the client's command `/mem` runs; it puts what is printed before the model.

What was typed comes on standard input, where no shell has read it. Whatever happens it exits 0 and says so in
words: to the client, a command that fails is an error of its own.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import redirect_stderr

from claude_mem.cli.commands import OK, Commands
from claude_mem.cli.pause import SESSION_VARIABLE
from claude_mem.model.errors import ClaudeMemError

RESULTS = 5
MOST_BYTES = 400_000

HELP = """\
/mem                      how memory stands
/mem search WORDS         find what is remembered
/mem show ID              read one of it whole
/mem remember TEXT        remember TEXT for this project
/mem forget ID            see what would be forgotten
/mem forget ID yes        forget it, for good
/mem off, /mem on         pause this session, and end the pause
/mem off all, /mem on all pause everything, and end that
In a terminal: claude-mem --help"""


def add(commands: Commands) -> None:
    commands.add(
        "slash",
        more=f"Reads what was typed after /mem on standard input. Always exits 0.\n\n{HELP}",
        example="echo 'search why does login fail' | claude-mem slash",
        run=_run,
    )


def _run(args: argparse.Namespace) -> int:
    del args
    typed = sys.stdin.buffer.read(MOST_BYTES).decode(errors="replace")
    verb, rest = [*typed.split(None, 1), "", ""][:2]
    os.environ.setdefault("COLUMNS", "100")  # the client says nothing of its terminal's width
    with redirect_stderr(sys.stdout):
        answer(verb.lower(), rest.strip())
    return OK


def answer(verb: str, rest: str) -> None:
    match verb:
        case "" | "status":
            _status()
        case "search" if rest:
            _command("search", "--slash", "--limit", str(RESULTS), "--", rest)
        case "show" if rest:
            _command("show", "--", *rest.split())
        case "remember" if rest:
            _command("remember", "--", rest)
        case "forget" if rest:
            _forget(rest.split())
        case "off" | "on":
            _switch(verb, rest.lower())
        case "help":
            print(HELP)
        case "search" | "show" | "remember" | "forget":
            print(f"Say what to {verb}.\n\n{HELP}")
        case _:
            print(f"/mem does not know {verb!r}.\n\n{HELP}")


def _command(*words: str) -> None:
    from claude_mem.cli.commands import run

    run(list(words))


def _forget(words: list[str]) -> None:
    *ids, last = words
    if ids and last.lower() in ("yes", "--yes"):
        _command("forget", "--yes", "--", *ids)
        return
    _command("forget", "--dry-run", "--", *words)
    which = " ".join(words)
    print(f"Nothing was forgotten. To do it, for good: /mem forget {which} yes")


def _switch(verb: str, rest: str) -> None:
    if rest not in ("", "all"):
        print(f"Say /mem {verb} for this session, or /mem {verb} all.")
    elif rest == "all" or not os.environ.get(SESSION_VARIABLE):
        _command(verb, "--slash")
    else:
        _command(verb, "--slash", "--session")


def _status() -> None:
    from claude_mem.cli import standing

    try:
        print("\n".join(standing.lines(os.environ.get(SESSION_VARIABLE, ""))))
    except ClaudeMemError as error:  # the worker has gone since it was looked at, or is of another version
        print(error)
