"""`claude-mem backup`, `restore` and `gc`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from claude_mem.cli import client, output
from claude_mem.cli.client import SLOW_S, request
from claude_mem.cli.commands import Commands
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
    daily = (
        "Safe while the worker is running. The worker makes one backup a day and keeps\n"
        "the last of each of the seven newest days. This applies to your own backups too:\n"
        "copy one to another folder to keep it."
    )
    commands.add("backup", more=daily, example="claude-mem backup", run=_backup)
    parser = commands.add(
        "restore",
        more=(
            "Without a FILE it uses the newest intact backup. The current database is moved\n"
            "aside, not deleted, and events in the spool are kept. A running worker is\n"
            "restarted."
        ),
        example="claude-mem restore\nclaude-mem restore --yes claude-mem-20260131-090000.db",
        run=_restore,
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the backup to restore")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    parser = commands.add(
        "gc",
        more=(
            "Deletes raw tool events past their retention limits, old backups and unused\n"
            "files. Of backups, the last of each of the seven newest days is kept, two from\n"
            "before upgrades, and three replaced and three damaged databases. All others are\n"
            "deleted, including those you made with `claude-mem backup`. Observations,\n"
            "summaries and prompts are never deleted. The worker does this gradually, every\n"
            "hour; gc does it all now. --dry-run lists what would be deleted."
        ),
        example="claude-mem gc --dry-run\nclaude-mem gc",
        run=_gc,
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be deleted, and stop")


def _backup(args: argparse.Namespace) -> int:
    from claude_mem.wiring import database

    chosen = client.load_settings()
    if chosen.database_url is None and not chosen.database.exists():
        raise ClaudeMemError(client.NO_DATABASE)
    with output.waiting("Copying the database ..."):
        made = database.backup(chosen)
    return output.result({"path": str(made), "bytes": made.stat().st_size}, str(made), as_json=args.json)


def _restore(args: argparse.Namespace) -> int:
    chosen = client.load_settings()
    if not chosen.data_dir.is_dir():
        raise ClaudeMemError(f"Nothing to restore: {chosen.data_dir} does not exist.")
    if args.file is not None and not args.file.is_file():
        raise ClaudeMemError(f"{args.file} does not exist.")
    question = f"Replace the database in {chosen.data_dir} with {args.file or 'the newest backup'}?"
    if code := output.confirm(question, "restore replaces the database", yes=args.yes):
        return code
    with output.waiting("Stopping the worker and restoring ..."):
        source, moved_to = _replace_database(chosen, args.file)
    data = {"restored_from": str(source), "moved_aside": moved_to and str(moved_to)}
    text = f"Restored from {source}" + (f"\nThe previous database is now in {moved_to}" if moved_to else "")
    return output.result(data, text, as_json=args.json)


def _replace_database(chosen: Settings, file: Path | None) -> tuple[Path, Path | None]:
    """The backup, and where the previous database is now. A worker that ran runs again, whatever happens."""
    from claude_mem.serve import control
    from claude_mem.serve.lock import LockHeld
    from claude_mem.wiring import database

    was_running = False
    try:
        for attempts_left in reversed(range(ATTEMPTS)):
            was_running |= control.stop(chosen.data_dir)
            try:
                done = database.restore(chosen, file)
            except LockHeld:
                if not attempts_left:
                    raise
                continue  # a hook has started another worker in between
            break
    finally:
        if was_running:
            control.start(chosen.data_dir)
    return done.restored_from, done.moved_aside


def _gc(args: argparse.Namespace) -> int:
    with output.waiting("Scanning the data directory ..."):
        report = request("POST", "/api/gc", body={"dry_run": args.dry_run}, within_s=SLOW_S)
    return output.result(report, gc_text(report), as_json=args.json)


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
