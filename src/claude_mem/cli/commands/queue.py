"""`claude-mem queue list|retry|drop`: what waits to be remembered, and what was given up for now."""

from __future__ import annotations

import argparse
import time
from typing import Any

from claude_mem.cli import output
from claude_mem.cli.commands import OK, USAGE, WRONG, Commands, help_of, json_flag
from claude_mem.hook import notices

STATES = ("parked", "ready", "leased")
PAGE = 500
"""As many as the worker lists at a time."""
WIDTH = 80


def add(commands: Commands) -> None:
    parser = commands.add(
        "queue",
        more=(
            "An event whose batch failed three times is parked: kept, with the reason, until\n"
            "you say what to do. The worker must be running."
        ),
        example="claude-mem queue list",
        run=lambda _: help_of(parser),
    )
    verbs = Commands(parser.add_subparsers(title="commands", metavar="COMMAND"))
    listing = verbs.add(
        "list",
        "list events that wait, with the reason",
        example="claude-mem queue list\nclaude-mem queue list --state ready --limit 100",
        run=_list,
    )
    listing.add_argument("--state", choices=STATES, default="parked", help="which (parked)")
    listing.add_argument("--limit", type=_count, default=20, metavar="N", help="how many at most (20)")
    json_flag(listing)
    retry = verbs.add(
        "retry",
        "try parked events again, at once",
        more="Without an ID, all of them. Also ends a pause: the model is asked again now.",
        example="claude-mem queue retry\nclaude-mem queue retry 41 42",
        run=_retry,
    )
    retry.add_argument("ids", nargs="*", type=_count, metavar="ID", help="as `queue list` shows it")
    retry.add_argument("--all", action="store_true", help="all that are parked, as without an ID")
    json_flag(retry)
    drop = verbs.add(
        "drop",
        "give parked events up: nothing will be remembered of them",
        more="The events themselves stay in the database, as evidence.",
        example="claude-mem queue drop 41 42",
        run=_drop,
    )
    drop.add_argument("ids", nargs="+", type=_count, metavar="ID", help="as `queue list` shows it")
    drop.add_argument("--yes", action="store_true", help="do not ask")
    json_flag(drop)


def _list(args: argparse.Namespace) -> int:
    jobs, total = _jobs(args.state, args.limit)
    if args.json:
        output.print_json({"state": args.state, "total": total, "jobs": jobs})
        return OK
    if jobs:
        print(table(jobs, time.time()))
    if total > len(jobs):
        output.message(f"The first {len(jobs):,} of {total:,}; more with --limit.")
    if not total:
        output.message(f"Nothing is {args.state}.")
    elif args.state == "parked":
        output.message("Try them again: claude-mem queue retry. Give one up: claude-mem queue drop ID")
    return OK


def _jobs(state: str, most: int) -> tuple[list[dict[str, Any]], int]:
    """The first of them, and how many there are."""
    from claude_mem.cli.client import request

    jobs: list[dict[str, Any]] = []
    after = 0
    while True:
        limit = min(PAGE, most - len(jobs))
        page = request("GET", "/api/queue", {"state": state, "limit": limit, "after": after}, starts=0)
        jobs += page["jobs"]
        if page["next"] is None or len(jobs) >= most:
            return jobs, max(int(page[state]), len(jobs))
        after = page["next"]


def table(jobs: list[dict[str, Any]], now: float) -> str:
    """In 80 columns; reasons are cut, `--json` has them whole."""
    digits = max(len("id"), *(len(str(job["id"])) for job in jobs))
    lines = [f"{'id':>{digits}}  {'session':<8}  {'what':<12}  {'age':<7}  tries  reason"]
    for job in jobs:
        what = job["toolName"] or str(job["kind"]).replace("_", " ")
        row = (
            f"{job['id']:>{digits}}  {job['claudeSessionId'][:8]:<8}  {output.fit(what, 12):<12}  "
            f"{notices.age(now - job['at'] / 1000):<7}  {job['attempts']:>5}  "
        )
        lines.append((row + output.fit(job["reason"] or "", WIDTH - len(row))).rstrip())
    return "\n".join(lines)


def _retry(args: argparse.Namespace) -> int:
    from claude_mem.cli.client import request

    if args.all and args.ids:
        output.message("claude-mem: say either --all or which ones.")
        return USAGE
    ids = list(dict.fromkeys(args.ids)) or None
    resumed = int(request("POST", "/api/queue/retry", body={"ids": ids}, starts=0)["resumed"])
    if args.json:
        output.print_json({"resumed": resumed})
    elif resumed or ids:
        print(f"{output.plural(resumed, 'event')} will be tried again.")
    else:
        print("Nothing was parked. If observing was paused, it is tried again now.")
    return _all_of(ids, resumed)


def _drop(args: argparse.Namespace) -> int:
    from claude_mem.cli.client import request

    ids = list(dict.fromkeys(args.ids))
    question = f"Give {output.plural(len(ids), 'event')} up? Nothing will be remembered of them."
    code = output.confirm(question, "drop gives events up for good", yes=args.yes)
    if code is not None:
        return code
    dropped = int(request("POST", "/api/queue/drop", body={"ids": ids}, starts=0)["dropped"])
    if args.json:
        output.print_json({"dropped": dropped})
    else:
        print(f"{output.plural(dropped, 'event')} given up.")
    return _all_of(ids, dropped)


def _all_of(ids: list[int] | None, done: int) -> int:
    if ids is None or done == len(ids):
        return OK
    output.message(
        f"claude-mem: {len(ids) - done} of the {output.plural(len(ids), 'event')} named were not parked."
    )
    return WRONG


def _count(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 2**63:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)
