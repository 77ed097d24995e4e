"""`claude-mem backup`."""

from __future__ import annotations

import argparse

from claude_mem.cli import loading, say
from claude_mem.cli.commands import Commands, json_flag
from claude_mem.model.errors import ClaudeMemError


def add(commands: Commands) -> None:
    json_flag(
        commands.add(
            "backup",
            more="Safe while the worker runs. The worker itself makes one a day and keeps seven.",
            example="claude-mem backup",
            run=_run,
        )
    )


def _run(args: argparse.Namespace) -> int:
    from claude_mem import wiring

    chosen = loading.load()
    if not chosen.database.exists():
        raise ClaudeMemError("There is no database yet: the worker makes it. Run: claude-mem worker start")
    with say.patiently("Copying the database ..."):
        made = wiring.backup(chosen)
    if args.json:
        say.data({"path": str(made), "bytes": made.stat().st_size})
    else:
        print(made)
    return 0
