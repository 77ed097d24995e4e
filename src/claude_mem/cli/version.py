"""`claude-mem version`."""

from __future__ import annotations

import argparse
import platform
import sqlite3
import sys

from claude_mem import __version__
from claude_mem.cli import say
from claude_mem.cli.command import Commands, json_flag


def add(commands: Commands) -> None:
    json_flag(
        commands.add("version", "print which versions are at work", example="claude-mem version", run=_run)
    )


def versions() -> dict[str, str]:
    return {
        "claude-mem": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "interpreter": sys.executable,
    }


def _run(args: argparse.Namespace) -> int:
    if args.json:
        say.data(versions())
    else:
        for name, value in versions().items():
            print(f"{name:<12} {value}")
    return 0
