"""`claude-mem pin`."""

from __future__ import annotations

import argparse

from claude_mem.cli import say
from claude_mem.cli.commands import OK, WRONG, Commands, json_flag


def add(commands: Commands) -> None:
    parser = commands.add(
        "pin",
        example="claude-mem pin 123\nclaude-mem pin --off 123 124",
        run=_run,
    )
    parser.add_argument("refs", nargs="+", metavar="ID", help="as `search` shows it")
    parser.add_argument("--off", action="store_true", help="no longer")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.ask import recall

    answer = recall("POST", "/api/memory/pin", body={"ids": args.refs, "pinned": not args.off})
    if args.json:
        say.data(answer)
    else:
        for result in answer["results"]:
            print(f"{result['ref']} is {'pinned' if result['pinned'] else 'no longer pinned'}.")
    if answer["missing"]:
        say.talk(f"claude-mem: nothing is remembered as {', '.join(map(str, answer['missing']))}.")
        return WRONG
    return OK
