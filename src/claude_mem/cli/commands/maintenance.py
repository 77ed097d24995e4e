"""`claude-mem queue list|retry|drop`, `backup`, `restore` and `gc`."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from claude_mem.agents import short_id
from claude_mem.cli import client, output
from claude_mem.cli.client import request, slow_request
from claude_mem.cli.commands import OK, WRONG, Commands, UsageError, yes_flag
from claude_mem.cli.filter_flags import up_to
from claude_mem.hook import notices
from claude_mem.model.errors import ClaudeMemError
from claude_mem.settings import Settings

ATTEMPTS = 3
ITEMS = {
    "evidence_old": "raw tool events older than CLAUDE_MEM_EVIDENCE_DAYS",
    "evidence_large": "oldest raw tool events, above CLAUDE_MEM_EVIDENCE_MB",
    "contexts": "rendered contexts of directories that are no longer used",
    "markers": "old markers and unreadable spool files",
    "backups": "old backups",
    "free": "unused space in the database",
}


def add(commands: Commands) -> None:
    commands.add("backup", run=_backup)
    parser = commands.add("restore", run=_restore)
    parser.argument("file", "FILE", "the backup to restore", nargs="?", type=Path)
    yes_flag(parser)
    parser = commands.add("gc", run=_gc)
    parser.flag("--dry-run", "show what would be deleted, and stop")
    verbs = commands.group(
        "queue",
        more=(
            "After three failed attempts, a batch of events is parked, with the reason, until\n"
            "you retry or drop it. If the model's replies could not be read, the offline\n"
            "observer processes the batch in the meantime; when a retry succeeds, its\n"
            "memories replace those. The worker must be running."
        ),
        example="claude-mem queue list",
    )
    purpose = "list failed events and why; --state ready lists waiting ones"
    listing = verbs.add("list", purpose, run=_list_events)
    states = "parked: failed (default); ready: waiting; leased: being processed"
    listing.add_argument("--state", choices=EVENT_STATES, default="parked", help=states)
    listing.argument("--limit", "N", "at most N (default: 20)", type=COUNT, default=20)
    retry = verbs.add("retry", "retry parked events now", run=_retry_events)
    retry.argument("ids", "ID", "an id from `queue list`", nargs="*", type=COUNT)
    retry.flag("--all", "all parked events (the default)")
    drop = verbs.add("drop", "drop parked events, so that they never become memory", run=_drop_events)
    drop.argument("ids", "ID", "an id from `queue list`", nargs="+", type=COUNT)
    yes_flag(drop)


def _backup(args: argparse.Namespace) -> int:
    """Safe while the worker is running. The worker makes one backup a day and keeps the last of each of the
    seven newest days. This applies to your own backups too: copy one to another folder to keep it.
    """
    from claude_mem.wiring import database

    settings = client.load_settings()
    if settings.database_url is None and not settings.database.exists():
        raise ClaudeMemError(client.NO_DATABASE)
    with output.waiting("Copying the database ..."):
        made = database.backup(settings)
    return output.result(args, {"path": str(made), "bytes": made.stat().st_size}, str(made))


def _restore(args: argparse.Namespace) -> int:
    """Without a FILE it uses the newest intact backup. The current database is moved aside, not deleted, and
    events in the spool are kept. A running worker is restarted.

    Example:
      claude-mem restore
      claude-mem restore --yes claude-mem-20260131-090000.db
    """
    settings = client.load_settings()
    if not settings.data_dir.is_dir():
        raise ClaudeMemError(f"Nothing to restore: {settings.data_dir} does not exist.")
    if args.file is not None and not args.file.is_file():
        raise ClaudeMemError(f"{args.file} does not exist.")
    question = f"Replace the database in {settings.data_dir} with {args.file or 'the newest backup'}?"
    if code := output.confirm(question, "restore replaces the database", yes=args.yes):
        return code
    with output.waiting("Stopping the worker and restoring ..."):
        source, moved_to = _replace_database(settings, args.file)
    data = {"restored_from": str(source), "moved_aside": moved_to and str(moved_to)}
    text = f"Restored from {source}" + (f"\nThe previous database is now in {moved_to}" if moved_to else "")
    return output.result(args, data, text)


def _replace_database(settings: Settings, file: Path | None) -> tuple[Path, Path | None]:
    """The backup, and where the previous database is now. A worker that ran runs again, whatever happens."""
    from claude_mem.serve import control
    from claude_mem.serve.lock import LockHeld
    from claude_mem.wiring import database

    was_running = False
    try:
        for attempts_left in reversed(range(ATTEMPTS)):
            was_running |= control.stop(settings.data_dir)
            try:
                done = database.restore(settings, file)
            except LockHeld:
                if not attempts_left:
                    raise
                continue  # a hook has started another worker in between
            break
    finally:
        if was_running:
            control.start(settings.data_dir)
    return done.restored_from, done.moved_aside


def _gc(args: argparse.Namespace) -> int:
    """Deletes raw tool events past their retention limits, old backups and unused files. Of backups, the last
    of each of the seven newest days is kept, two from before upgrades, and three replaced and three damaged
    databases. All others are deleted, including those you made with `claude-mem backup`. Observations,
    summaries and prompts are never deleted. The worker does this gradually, every hour; gc does it all now.
    --dry-run lists what would be deleted.

    Example:
      claude-mem gc --dry-run
      claude-mem gc
    """
    body = {"dry_run": args.dry_run}
    report = slow_request("Scanning the data directory ...", "POST", "/api/gc", body)
    return output.result(args, report, gc_text(report))


def gc_text(report: dict[str, Any]) -> str:
    lines = []
    for item in report["items"]:
        if item["count"] or item["bytes"]:
            count = f": {item['count']:,}" if item["count"] else ""
            lines.append(f"{output.size(item['bytes']):>10}  {ITEMS.get(item['what'], item['what'])}{count}")
    freed = "would be freed" if report["dry_run"] else "freed"
    lines.append(f"{output.size(report['bytes'])} {freed}." if lines else "Nothing to delete.")
    size, free = (output.size(report["database"][name]) for name in ("size", "free"))
    return "\n".join([*lines, f"Database size: {size}, of which {free} is unused."])


COUNT = up_to(2**63 - 1)
EVENT_STATES = ("parked", "ready", "leased")
EVENTS_PAGE = 500  # as many as the worker lists at a time
EVENTS_WIDTH = 80


def _list_events(args: argparse.Namespace) -> int:
    """Example:
    claude-mem queue list
    claude-mem queue list --state ready --limit 100
    """
    jobs: list[dict[str, Any]] = []
    after: int | None = 0
    while after is not None and len(jobs) < args.limit:
        query = {"state": args.state, "limit": min(EVENTS_PAGE, args.limit - len(jobs)), "after": after}
        page = request("GET", "/api/queue", query, starts=0)
        jobs += page["jobs"]
        after = page["next"]
    total = max(int(page[args.state]), len(jobs))
    hints = [f"Showing {len(jobs):,} of {total:,}. Use --limit to see more."] if total > len(jobs) else []
    if args.state == "parked":
        hints.append("To retry them: claude-mem queue retry. To drop one: claude-mem queue drop ID")
    data = {"items": jobs, "next": after, "state": args.state, "total": total}
    empty = f"No {args.state} events."
    return output.listing(args, data, jobs, events_table, empty, "\n".join(hints))


def events_table(jobs: list[dict[str, Any]]) -> str:
    """A table of events in 80 columns; reasons are truncated, and complete with `--json`."""
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
        lines.append((row + output.fit(job["reason"] or "", EVENTS_WIDTH - len(row))).rstrip())
    return "\n".join(lines)


def _retry_events(args: argparse.Namespace) -> int:
    """Without an ID, all of them. If calls to the model were paused after an error, they resume now. A batch
    that was processed offline is retried completely.

    Example:
      claude-mem queue retry
      claude-mem queue retry 41 42
    """
    if args.all and args.ids:
        raise UsageError("Specify either --all or IDs, not both.")
    ids = list(dict.fromkeys(args.ids)) or None
    resumed = int(request("POST", "/api/queue/retry", body={"ids": ids}, starts=0)["resumed"])
    text = "No parked events. If observing was paused, it resumes now."
    if resumed or ids:
        text = f"{output.plural(resumed, 'event')} will be retried."
    return output.result(args, {"resumed": resumed}, text, code=_missed(ids, resumed))


def _drop_events(args: argparse.Namespace) -> int:
    """The events stay in the database as evidence. So do memories the offline observer made from them.

    Example:
      claude-mem queue drop 41 42
    """
    ids = list(dict.fromkeys(args.ids))
    question = f"Drop {output.plural(len(ids), 'event')}? They will not become memory."
    if code := output.confirm(question, "drop is permanent", yes=args.yes):
        return code
    dropped = int(request("POST", "/api/queue/drop", body={"ids": ids}, starts=0)["dropped"])
    text = f"{output.plural(dropped, 'event')} dropped."
    return output.result(args, {"dropped": dropped}, text, code=_missed(ids, dropped))


def _missed(ids: list[int] | None, done: int) -> int:
    if ids is None or done >= len(ids):
        return OK
    if len(ids) == 1:
        output.message(f"claude-mem: event {ids[0]} is not parked.")
    else:
        output.message(f"claude-mem: {len(ids) - done} of {len(ids)} events are not parked.")
    return WRONG
