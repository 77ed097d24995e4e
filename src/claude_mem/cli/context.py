"""`claude-mem context`, typed by a person: what the next session here is told. A client means the hook."""

from __future__ import annotations

import argparse

from claude_mem.cli import narrow, say
from claude_mem.cli.columns import clean
from claude_mem.cli.commands import OK, Commands, json_flag

NOTHING = "No previous sessions found for this project."
SOURCES = ("startup", "resume", "clear", "compact")


def add(commands: Commands) -> None:
    parser = commands.add(
        "context",
        more=(
            "In a terminal, with a flag, or with no input (</dev/null) it prints for you.\n"
            "Otherwise it is the hook of SessionStart: it reads one JSON object on standard\n"
            "input, records it, prints a hook's answer, and always exits 0."
        ),
        example=(
            "claude-mem context\n"
            "claude-mem context --project shop --json\n"
            'echo \'{"session_id":"s1","source":"startup"}\' | claude-mem context'
        ),
        run=_run,
    )
    narrow.project(parser)
    parser.add_argument("--source", choices=SOURCES, default="startup", help="what begins (startup)")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.ask import recall

    where = {"project": args.project} if args.project else {"cwd": narrow.here()}
    found = recall("GET", "/api/context/inject", {**where, "source": args.source, "format": "json"})
    if args.json:
        say.data(found)
    else:
        print(clean(str(found["text"])).rstrip() or NOTHING)
    return OK
