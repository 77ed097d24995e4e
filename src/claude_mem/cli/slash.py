"""`claude-mem slash`: what the client's command `/mem` runs; it puts what is printed before the model.

What was typed comes on standard input, where no shell has read it. Whatever happens it exits 0 and says so in
words: to the client, a command that fails is an error of its own.
"""

from __future__ import annotations

import argparse
import os
import posix
import sys
import time
from contextlib import redirect_stderr

from claude_mem.cli.command import OK, Commands
from claude_mem.cli.pause import SESSION_VARIABLE

RESULTS = 5
MOST_BYTES = 400_000

HELP = """\
/mem                      how memory stands
/mem search WORDS         find what is remembered
/mem remember TEXT        remember TEXT for this project
/mem forget ID            see what would be forgotten
/mem forget ID yes        forget it, for good
/mem off, /mem on         pause this session, and end the pause
/mem off all, /mem on all pause everything, and end that
In a terminal: claude-mem --help"""


def add(commands: Commands) -> None:
    commands.add(
        "slash",
        "answer the client's command /mem",
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
            print(_status())
        case "search" if rest:
            _command("search", "--limit", str(RESULTS), "--", rest)
        case "remember" if rest:
            _command("remember", "--", rest)
        case "forget" if rest:
            _forget(rest.split())
        case "off" | "on":
            _switch(verb, rest.lower())
        case "help":
            print(HELP)
        case "search" | "remember" | "forget":
            print(f"Say what to {verb}.\n\n{HELP}")
        case _:
            print(f"/mem does not know {verb!r}.\n\n{HELP}")


def _command(*words: str) -> None:
    from claude_mem.cli.run import run

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
        _command(verb)
    else:
        _command(verb, "--session")


def _status() -> str:
    from claude_mem.cli import glance, say, statusline

    seen = glance.look(posix.environ, os.environ.get(SESSION_VARIABLE, ""))
    lines = [statusline.render(seen, time.time()).removeprefix("mem ")]
    workers = {
        glance.AWAKE: "The worker is running.",
        glance.ASLEEP: "The worker is not running; the next hook starts it.",
        glance.BUSY: "The worker does not answer just now.",
    }
    lines.append(workers[seen.worker])
    if seen.tokens is not None and seen.usd is not None:
        lines.append(
            f"Today {say.many(seen.tokens, 'token')} and ${seen.usd:,.2f} were spent on remembering."
        )
    return "\n".join([*lines, "More: /mem help, or `claude-mem doctor` in a terminal."])
