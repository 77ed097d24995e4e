"""`claude-mem file`."""

from __future__ import annotations

import argparse
import sys
import time

from claude_mem.cli import columns, memories, narrow, say
from claude_mem.cli.commands import OK, Commands, json_flag

RESULTS = 20


def add(commands: Commands) -> None:
    parser = commands.add(
        "file",
        example="claude-mem file src/login.py\nclaude-mem file --here login.py --limit 5",
        run=_run,
    )
    parser.add_argument("path", metavar="PATH", help="the file's path, or the end of it")
    narrow.project(parser)
    parser.add_argument(
        "--limit", type=narrow.up_to(narrow.MOST), default=RESULTS, metavar="N", help=f"at most ({RESULTS})"
    )
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.ask import recall

    query = {"path": args.path, "limit": args.limit}
    found = recall("GET", "/api/file", query | narrow.where(args))
    if args.json:
        say.data(found)
    elif found["results"]:
        print(memories.table(found["results"], time.time(), columns.terminal(), say.Paint(sys.stdout)))
        say.talk(f"Read one whole: claude-mem show {found['results'][0]['ref']}")
    else:
        say.talk("Nothing is remembered of that file.")
    return OK
