"""`claude-mem search`."""

from __future__ import annotations

import argparse
import sys
import time

from claude_mem.cli import columns, memories, narrow, say
from claude_mem.cli.commands import OK, Commands, json_flag, slash_flag
from claude_mem.model.refs import NEAREST

RESULTS = 10
NEAR = 3  # shown to a person, of what no word was found in


def add(commands: Commands) -> None:
    parser = commands.add(
        "search",
        more="Without a QUERY, the newest. Starts the worker if it is not running.",
        example=(
            "claude-mem search why does login fail\n"
            "claude-mem search --here --since 'last week' flaky test\n"
            "claude-mem search --file src/login.py --type bugfix --json"
        ),
        run=_run,
    )
    parser.add_argument("query", nargs="*", metavar="QUERY", help="what to look for")
    narrow.flags(parser)
    narrow.paging(parser, RESULTS)
    parser.add_argument("--explain", action="store_true", help="say of what each score is made")
    slash_flag(parser)
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.ask import recall

    query = {"q": " ".join(args.query), "explain": "true" if args.explain else None}
    found = recall("GET", "/api/search", query | narrow.query(args))
    if args.json:
        say.data(found)
        return OK
    results, note, more = found["results"], found.get("note"), ""
    if note == NEAREST:
        print(note)  # before them: they look like an answer
        results = results[:NEAR]
    elif found["hasMore"]:
        after = found["offset"] + len(results)
        more = " Narrow it with more words." if args.slash else f" More: --offset {after}."
    if results:
        print(memories.table(results, time.time(), columns.terminal(), say.Paint(sys.stdout)))
    if note and note != NEAREST:
        say.talk(str(note))
    if not results:
        say.talk("Nothing is remembered of that.")
    else:
        command = "/mem" if args.slash else "claude-mem"
        say.talk(f"Read one whole: {command} show {results[0]['ref']}.{more}")
    return OK
