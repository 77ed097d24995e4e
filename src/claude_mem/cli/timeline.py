"""`claude-mem timeline`."""

from __future__ import annotations

import argparse
import sys
import time

from claude_mem.cli import columns, memories, narrow, say
from claude_mem.cli.commands import OK, Commands, json_flag

AROUND = 5
MOST_AROUND = 50


def add(commands: Commands) -> None:
    parser = commands.add(
        "timeline",
        more="Without an ANCHOR or --query: what was last.",
        example=(
            "claude-mem timeline 123\n"
            "claude-mem timeline --here 'last monday'\n"
            "claude-mem timeline --query 'login fails' --before 3 --after 10"
        ),
        run=_run,
    )
    parser.add_argument(
        "anchor", nargs="?", metavar="ANCHOR", help="an id (123, s4, p5), a session, or a time in words"
    )
    parser.add_argument("--query", metavar="Q", help="around the best hit of this search instead")
    around = narrow.up_to(MOST_AROUND, least=0)
    parser.add_argument("--before", type=around, default=AROUND, metavar="N", help=f"how many ({AROUND})")
    parser.add_argument("--after", type=around, default=AROUND, metavar="N", help=f"how many ({AROUND})")
    narrow.flags(parser)
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.ask import recall

    query = {"anchor": args.anchor, "q": args.query, "before": args.before, "after": args.after}
    found = recall("GET", "/api/timeline", query | narrow.query(args))
    if args.json:
        say.data(found)
        return OK
    anchor = found["anchor"]
    results = [*found["before"], *([anchor] if anchor else []), *found["after"]]
    if results:
        print(memories.table(results, time.time(), columns.terminal(), say.Paint(sys.stdout)))
        if anchor:
            say.talk(f"Around {anchor['ref']}. Read one whole: claude-mem show {anchor['ref']}")
    else:
        say.talk("Nothing is remembered from around then.")
    return OK
