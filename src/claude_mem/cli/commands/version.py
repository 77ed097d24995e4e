"""`claude-mem version`."""

from __future__ import annotations

import argparse
import sys

from claude_mem import __version__
from claude_mem.cli.commands import Commands


def add(commands: Commands) -> None:
    commands.add("version", example="claude-mem version", run=_run)


def versions() -> dict[str, str]:
    import _sqlite3  # `sqlite3` costs a calendar as well

    return {
        "claude-mem": __version__,
        "python": sys.version.split()[0],
        "sqlite": _sqlite3.sqlite_version,
        "interpreter": sys.executable,
    }


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli import output

    text = "\n".join(f"{name:<12} {value}" for name, value in versions().items())
    return output.result(versions(), text, as_json=args.json)
