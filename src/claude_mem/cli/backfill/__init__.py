"""`claude-mem backfill`: on the day it is installed, memory knows what was done before."""

from __future__ import annotations

import argparse

from claude_mem.cli.commands import Commands, json_flag
from claude_mem.cli.narrow import up_to


def add(commands: Commands) -> None:
    parser = commands.add(
        "backfill",
        more=(
            "Finds Claude Code's transcripts (of all projects, unless --project says which),\n"
            "shows what there is and asks. What comes in is scrubbed and observed like live\n"
            "work, the newest first. Without --provider auto no model is asked and it costs\n"
            "nothing. Interrupt it at any time: doing it again goes on where it was. Sessions\n"
            "that were captured as they happened are left alone."
        ),
        example=(
            "claude-mem backfill\n"
            "claude-mem backfill --project . --git\n"
            "claude-mem backfill --from ~/old/projects --since 'last month' --yes\n"
            "claude-mem backfill --provider auto --budget-usd 1.50"
        ),
        run=_run,
    )
    parser.add_argument("--from", dest="folder", metavar="DIR", help="transcripts that lie elsewhere")
    parser.add_argument("--project", metavar="P", help="only of this one: . or a directory, or its name")
    parser.add_argument("--since", metavar="WHEN", help="yesterday, 'last month', 2026-01-31, …")
    parser.add_argument(
        "--provider", choices=("offline", "auto"), default="offline", help="who observes: no model, or yours"
    )
    parser.add_argument("--budget-usd", type=_amount, metavar="X", help="stop when this run has cost so much")
    parser.add_argument(
        "--budget-tokens", type=up_to(10**12), metavar="N", help="the same, counted in tokens"
    )
    parser.add_argument(
        "--git", nargs="?", const=".", metavar="REPO", help="also the commits of a repository (this one)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what there is")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    json_flag(parser)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 < amount <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is not an amount of dollars")
    return amount


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.backfill.running import run

    return run(args)
