"""`claude-mem gc`."""

from __future__ import annotations

import argparse
from typing import Any

from claude_mem.cli import say
from claude_mem.cli.commands import OK, Commands, json_flag

WHAT = {
    "evidence_old": "raw evidence past its age (CLAUDE_MEM_EVIDENCE_DAYS)",
    "evidence_large": "the oldest raw evidence past its size (CLAUDE_MEM_EVIDENCE_MB)",
    "contexts": "rendered contexts of places where nobody works any more",
    "markers": "markers and set-aside files of long ago",
    "backups": "copies of the database past those that are kept",
    "free": "unused pages of the database",
}


def add(commands: Commands) -> None:
    parser = commands.add(
        "gc",
        more=(
            "The worker does this by itself, a little every hour; this does all of it now.\n"
            "What was learnt (observations, summaries, prompts) is never let go of."
        ),
        example="claude-mem gc --dry-run\nclaude-mem gc",
        run=_run,
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be freed")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.ask import SLOWLY_S, recall

    with say.patiently("Looking through the house ..."):
        told = recall("POST", "/api/gc", body={"dry_run": args.dry_run}, within_s=SLOWLY_S)
    if args.json:
        say.data(told)
    else:
        print(report(told))
    return OK


def report(told: dict[str, Any]) -> str:
    lines = [_line(item) for item in told["items"] if item["count"] or item["bytes"]]
    room = told["database"]
    would = "would be freed" if told["dry_run"] else "freed"
    lines.append(f"{say.size(told['bytes'])} {would}." if lines else "There is nothing to let go of.")
    lines.append(
        f"The database takes {say.size(room['size'])}, of which {say.size(room['free'])} are unused."
    )
    return "\n".join(lines)


def _line(item: dict[str, Any]) -> str:
    count = f"{item['count']:,} × " if item["count"] else ""
    return f"{say.size(item['bytes']):>10}  {count}{WHAT.get(item['what'], item['what'])}"
