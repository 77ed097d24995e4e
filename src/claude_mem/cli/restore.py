"""`claude-mem restore`."""

from __future__ import annotations

import argparse
from pathlib import Path

from claude_mem.cli import consent, loading, say
from claude_mem.cli.commands import OK, Commands, json_flag
from claude_mem.model.errors import ClaudeMemError
from claude_mem.settings import Settings

ATTEMPTS = 3


def add(commands: Commands) -> None:
    parser = commands.add(
        "restore",
        more=(
            "Without a FILE, the newest backup that is whole. The database that was there is\n"
            "moved aside, not deleted; what is spooled stays. A running worker is restarted."
        ),
        example="claude-mem restore\nclaude-mem restore --yes claude-mem-20260131-090000.db",
        run=_run,
    )
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="the backup to restore")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    chosen = loading.load()
    if not chosen.data_dir.is_dir():
        raise ClaudeMemError(f"There is nothing to restore: {chosen.data_dir} does not exist.")
    question = f"Replace the database in {chosen.data_dir} with {args.file or 'the newest backup'}?"
    code = consent.refused(question, "restore replaces the database", yes=args.yes)
    if code is not None:
        return code
    with say.patiently("Stopping the worker and restoring ..."):
        source, aside = _restored(chosen, args.file)
    if args.json:
        say.data({"restored_from": str(source), "moved_aside": aside and str(aside)})
    else:
        print(f"Restored from {source}")
        if aside is not None:
            print(f"The database that was there is now in {aside}")
    return OK


def _restored(chosen: Settings, file: Path | None) -> tuple[Path, Path | None]:
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
