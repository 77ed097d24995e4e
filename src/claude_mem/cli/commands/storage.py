"""`claude-mem backup`, `restore` and `gc`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from claude_mem.cli import client, output
from claude_mem.cli.client import SLOW_S, request
from claude_mem.cli.commands import Commands, json_flag
from claude_mem.model.errors import ClaudeMemError
from claude_mem.settings import Settings


def add(commands: Commands) -> None:
    json_flag(
        commands.add(
            "backup",
            more="Safe while the worker is running. The worker makes one a day and keeps seven.",
            example="claude-mem backup",
            run=_run_backup,
        )
    )
    parser = commands.add(
        "restore",
        more=(
            "Without a FILE it uses the newest intact backup. The current database is moved\n"
            "aside, not deleted, and spooled events are kept. A running worker is restarted."
        ),
        example="claude-mem restore\nclaude-mem restore --yes claude-mem-20260131-090000.db",
        run=_run_restore,
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the backup to restore")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    json_flag(parser)
    parser = commands.add(
        "gc",
        more=(
            "The worker does this on its own, a little every hour; this does all of it now.\n"
            "Observations, summaries and prompts are never deleted."
        ),
        example="claude-mem gc --dry-run\nclaude-mem gc",
        run=_run_gc,
    )
    parser.add_argument("--dry-run", action="store_true", help="show what would be freed, and stop")
    json_flag(parser)


def _run_backup(args: argparse.Namespace) -> int:
    from claude_mem import wiring

    chosen = client.load_settings()
    if not chosen.database.exists():
        raise ClaudeMemError("There is no database yet; the worker creates it. Run: claude-mem worker start")
    with output.waiting("Copying the database ..."):
        made = wiring.backup(chosen)
    return output.result({"path": str(made), "bytes": made.stat().st_size}, str(made), as_json=args.json)


ATTEMPTS = 3


def _run_restore(args: argparse.Namespace) -> int:
    chosen = client.load_settings()
    if not chosen.data_dir.is_dir():
        raise ClaudeMemError(f"Nothing to restore: {chosen.data_dir} does not exist.")
    question = f"Replace the database in {chosen.data_dir} with {args.file or 'the newest backup'}?"
    code = output.confirm(question, "restore replaces the database", yes=args.yes)
    if code is not None:
        return code
    with output.waiting("Stopping the worker and restoring ..."):
        source, aside = _restore(chosen, args.file)
    data = {"restored_from": str(source), "moved_aside": aside and str(aside)}
    text = f"Restored from {source}" + (f"\nThe previous database is now in {aside}" if aside else "")
    return output.result(data, text, as_json=args.json)


def _restore(chosen: Settings, file: Path | None) -> tuple[Path, Path | None]:
    """What was restored, and where the former database is. A worker that ran runs again, whatever happens."""
    from claude_mem import wiring
    from claude_mem.serve import control
    from claude_mem.serve.lock import LockHeld

    was_running = False
    try:
        for attempts_left in reversed(range(ATTEMPTS)):
            was_running |= control.stop(chosen.data_dir)
            try:
                done = wiring.restore(chosen, file)
            except LockHeld:
                if not attempts_left:
                    raise
                continue  # a hook has started another worker in between
            break
    finally:
        if was_running:
            control.start(chosen.data_dir)
    return done.restored_from, done.moved_aside


WHAT = {
    "evidence_old": "raw evidence older than CLAUDE_MEM_EVIDENCE_DAYS",
    "evidence_large": "the oldest raw evidence above CLAUDE_MEM_EVIDENCE_MB",
    "contexts": "rendered contexts of directories no longer in use",
    "markers": "old markers and unreadable spool files",
    "backups": "surplus copies of the database",
    "free": "free pages in the database",
}


def _run_gc(args: argparse.Namespace) -> int:
    with output.waiting("Scanning the data directory ..."):
        told = request("POST", "/api/gc", body={"dry_run": args.dry_run}, within_s=SLOW_S)
    return output.result(told, gc_report(told), as_json=args.json)


def gc_report(told: dict[str, Any]) -> str:
    lines = [_gc_line(item) for item in told["items"] if item["count"] or item["bytes"]]
    room = told["database"]
    would = "would be freed" if told["dry_run"] else "freed"
    lines.append(f"{output.size(told['bytes'])} {would}." if lines else "Nothing to delete.")
    lines.append(
        f"The database takes {output.size(room['size'])}, of which {output.size(room['free'])} is free."
    )
    return "\n".join(lines)


def _gc_line(item: dict[str, Any]) -> str:
    count = f"{item['count']:,} × " if item["count"] else ""
    return f"{output.size(item['bytes']):>10}  {count}{WHAT.get(item['what'], item['what'])}"
