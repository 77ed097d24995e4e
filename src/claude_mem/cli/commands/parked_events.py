"""`claude-mem queue list|retry|drop`: events that wait to be observed, and those that failed."""

from __future__ import annotations

import argparse
import time
from typing import Any

from claude_mem.agents import short_id
from claude_mem.cli import output
from claude_mem.cli.client import request
from claude_mem.cli.commands import OK, WRONG, Commands, UsageError, help_of
from claude_mem.cli.filter_flags import up_to
from claude_mem.hook import notices

COUNT = up_to(2**63 - 1)
STATES = ("parked", "ready", "leased")
PAGE = 500  # as many as the worker lists at a time
WIDTH = 80


def add(commands: Commands) -> None:
    parser = commands.add(
        "queue",
        more=(
            "After three failed attempts, a batch of events is parked, with the reason, until\n"
            "you retry or drop it. If the model's replies could not be read, the offline\n"
            "observer processes the batch in the meantime; when a retry succeeds, its\n"
            "memories replace those. The worker must be running."
        ),
        example="claude-mem queue list",
        run=lambda _: help_of(parser),
        json=False,
    )
    verbs = Commands(parser.add_subparsers(title="commands", metavar="COMMAND"))
    listing = verbs.add(
        "list",
        "list failed events and why; --state ready lists waiting ones",
        example="claude-mem queue list\nclaude-mem queue list --state ready --limit 100",
        run=_list,
    )
    listing.add_argument(
        "--state",
        choices=STATES,
        default="parked",
        help="parked: failed (default); ready: waiting; leased: being processed",
    )
    listing.add_argument("--limit", type=COUNT, default=20, metavar="N", help="at most N (default: 20)")
    retry = verbs.add(
        "retry",
        "retry parked events now",
        more=(
            "Without an ID, all of them. If calls to the model were paused after an error,\n"
            "they resume now. A batch that was processed offline is retried completely."
        ),
        example="claude-mem queue retry\nclaude-mem queue retry 41 42",
        run=_retry,
    )
    retry.add_argument("ids", nargs="*", type=COUNT, metavar="ID", help="an id from `queue list`")
    retry.add_argument("--all", action="store_true", help="all parked events (the default)")
    drop = verbs.add(
        "drop",
        "drop parked events, so that they never become memory",
        more=(
            "The events stay in the database as evidence. So do memories the offline observer\n"
            "made from them."
        ),
        example="claude-mem queue drop 41 42",
        run=_drop,
    )
    drop.add_argument("ids", nargs="+", type=COUNT, metavar="ID", help="an id from `queue list`")
    drop.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def _list(args: argparse.Namespace) -> int:
    jobs: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None and len(jobs) < args.limit:
        query = {"state": args.state, "limit": min(PAGE, args.limit - len(jobs)), "after": after}
        page = request("GET", "/api/queue", query, starts=0)
        jobs += page["jobs"]
        after = page["next"]
    total = max(int(page[args.state]), len(jobs))
    hints = [f"Showing {len(jobs):,} of {total:,}. Use --limit to see more."] if total > len(jobs) else []
    if args.state == "parked":
        hints.append("To retry them: claude-mem queue retry. To drop one: claude-mem queue drop ID")
    data = {"items": jobs, "next": after, "state": args.state, "total": total}
    empty = f"No {args.state} events."
    return output.listing(data, jobs, table, empty, "\n".join(hints), as_json=args.json)


def table(jobs: list[dict[str, Any]]) -> str:
    """In 80 columns; reasons are cut, `--json` has them in full."""
    now, digits = time.time(), max(len("id"), *(len(str(job["id"])) for job in jobs))
    sessions = [short_id(job["claudeSessionId"]) for job in jobs]
    wide = max(8, *map(len, sessions))
    lines = [f"{'id':>{digits}}  {'session':<{wide}}  {'what':<12}  {'age':<7}  tries  reason"]
    for job, session in zip(jobs, sessions, strict=True):
        what = job["toolName"] or str(job["kind"]).replace("_", " ")
        row = (
            f"{job['id']:>{digits}}  {session:<{wide}}  {output.fit(what, 12):<12}  "
            f"{notices.age(now - job['at'] / 1000):<7}  {job['attempts']:>5}  "
        )
        lines.append((row + output.fit(job["reason"] or "", WIDTH - len(row))).rstrip())
    return "\n".join(lines)


def _retry(args: argparse.Namespace) -> int:
    if args.all and args.ids:
        raise UsageError("Specify either --all or IDs, not both.")
    ids = list(dict.fromkeys(args.ids)) or None
    resumed = int(request("POST", "/api/queue/retry", body={"ids": ids}, starts=0)["resumed"])
    text = "No parked events. If observing was paused, it resumes now."
    if resumed or ids:
        text = f"{output.plural(resumed, 'event')} will be retried."
    return output.result({"resumed": resumed}, text, as_json=args.json, code=_missed(ids, resumed))


def _drop(args: argparse.Namespace) -> int:
    ids = list(dict.fromkeys(args.ids))
    question = f"Drop {output.plural(len(ids), 'event')}? They will not become memory."
    if code := output.confirm(question, "drop is permanent", yes=args.yes):
        return code
    dropped = int(request("POST", "/api/queue/drop", body={"ids": ids}, starts=0)["dropped"])
    text = f"{output.plural(dropped, 'event')} dropped."
    return output.result({"dropped": dropped}, text, as_json=args.json, code=_missed(ids, dropped))


def _missed(ids: list[int] | None, done: int) -> int:
    if ids is None or done >= len(ids):
        return OK
    if len(ids) == 1:
        output.message(f"claude-mem: event {ids[0]} is not parked.")
    else:
        output.message(f"claude-mem: {len(ids) - done} of {len(ids)} events are not parked.")
    return WRONG
