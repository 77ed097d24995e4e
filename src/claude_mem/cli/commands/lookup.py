"""`claude-mem search`, `timeline` and `file`."""

from __future__ import annotations

import argparse

from claude_mem.cli import filter_flags, memory_text, output
from claude_mem.cli.client import request
from claude_mem.cli.commands import OK, Commands, slash_flag
from claude_mem.model.refs import NEAREST

RESULTS = 10
NEAR = 3  # shown to a person, of what no word was found in


def add(commands: Commands) -> None:
    parser = commands.add(
        "search",
        more="Without a QUERY it lists the newest memories. Starts the worker if it is not\nrunning.",
        example=(
            "claude-mem search why does login fail\n"
            "claude-mem search --here --since 'last week' flaky test\n"
            "claude-mem search --file src/login.py --type bugfix --json"
        ),
        run=_run_search,
    )
    parser.add_argument("query", nargs="*", metavar="QUERY", help="what to look for")
    filter_flags.flags(parser)
    filter_flags.paging(parser, RESULTS)
    parser.add_argument("--explain", action="store_true", help="show how each score is computed")
    slash_flag(parser)
    parser = commands.add(
        "timeline",
        more="Without an ANCHOR or --query it shows the most recent memories.",
        example=(
            "claude-mem timeline 123\n"
            "claude-mem timeline --here 'last monday'\n"
            "claude-mem timeline --query 'login fails' --before 3 --after 10"
        ),
        run=_run_timeline,
    )
    parser.add_argument(
        "anchor", nargs="?", metavar="ANCHOR", help="an id (123, s4, p5), a session, or a time"
    )
    parser.add_argument("--query", metavar="Q", help="use the best result of this search as the anchor")
    around = filter_flags.up_to(MOST_AROUND, least=0)
    for flag in ("--before", "--after"):
        parser.add_argument(
            flag, type=around, default=AROUND, metavar="N", help=f"how many (default: {AROUND})"
        )
    filter_flags.flags(parser)
    parser = commands.add(
        "file",
        example="claude-mem file src/login.py\nclaude-mem file --here login.py --limit 5",
        run=_run_file,
    )
    parser.add_argument("path", metavar="PATH", help="the file's path, or the end of it")
    filter_flags.project(parser)
    filter_flags.limit(parser, FILE_RESULTS)


def _run_search(args: argparse.Namespace) -> int:
    query = {"q": " ".join(args.query), "explain": "true" if args.explain else None}
    found = request("GET", "/api/search", query | filter_flags.query(args))
    if args.json:
        output.print_json(output.page(found, "results"))
        return OK
    results, note, more = found["results"], found.get("note"), ""
    if note == NEAREST:
        print(note)  # before them: they look like an answer
        found["results"] = results = results[:NEAR]
    elif found["hasMore"]:
        after = found["offset"] + len(results)
        more = " Add words to narrow the search." if args.slash else f" More: --offset {after}."
    if results and "time" in found["legs"]:
        memory_text.print_table(results)
    elif results:
        memory_text.print_found(found)
    if note and note != NEAREST:
        output.message(str(note))
    if not results:
        output.message("No results.")
    else:
        command = "/mem" if args.slash else "claude-mem"
        output.message(f"Read one in full: {command} show {results[0]['ref']}.{more}")
    return OK


AROUND = 5
MOST_AROUND = 50


def _run_timeline(args: argparse.Namespace) -> int:
    query = {"anchor": args.anchor, "q": args.query, "before": args.before, "after": args.after}
    found = request("GET", "/api/timeline", query | filter_flags.query(args))
    anchor = found["anchor"]
    results = [*found["before"], *([anchor] if anchor else []), *found["after"]]
    if args.json:
        output.print_json(output.page({"items": results, "anchor": anchor and anchor["ref"]}, "items"))
    elif results:
        memory_text.print_table(results)
        if anchor:
            output.message(f"Centered on {anchor['ref']}. Read one in full: claude-mem show {anchor['ref']}")
    else:
        output.message("No results.")
    return OK


FILE_RESULTS = 20


def _run_file(args: argparse.Namespace) -> int:
    query = {"path": args.path, "limit": args.limit}
    found = request("GET", "/api/file", query | filter_flags.where(args))
    if args.json:
        output.print_json(output.page(found, "results"))
    elif found["results"]:
        memory_text.print_table(found["results"])
        output.message(f"Read one in full: claude-mem show {found['results'][0]['ref']}")
    else:
        output.message("No results.")
    return OK
