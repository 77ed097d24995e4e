"""`claude-mem remember`."""

from __future__ import annotations

import argparse
import sys

from claude_mem.cli import narrow, say
from claude_mem.cli.command import OK, Commands, UsageError, json_flag

TYPES = ("bugfix", "feature", "refactor", "change", "discovery", "decision")
MOST_BYTES = 400_000


def add(commands: Commands) -> None:
    parser = commands.add(
        "remember",
        "remember something because you say so",
        more=(
            "It belongs to this directory's project unless --project says otherwise. A lone\n"
            "`-` reads the text from standard input. <private> text is left out, as always."
        ),
        example=(
            "claude-mem remember Deploys need the VPN.\n"
            "claude-mem remember --type decision --file db/schema.sql - < notes.txt"
        ),
        run=_run,
    )
    parser.add_argument("text", nargs="+", metavar="TEXT", help="what to remember, or -")
    parser.add_argument("--title", metavar="T", help="its title; else made of the text")
    parser.add_argument("--type", choices=TYPES, metavar="T", help="its type: " + ", ".join(TYPES))
    parser.add_argument("--file", action="append", metavar="F", help="a path it is about; may come again")
    parser.add_argument("--concept", action="append", metavar="C", help="a concept; may come again")
    parser.add_argument("--project", metavar="P", help="whose memory it is: a project's name or key")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.ask import recall

    text = _stdin() if args.text == ["-"] else " ".join(args.text)
    if not text.strip():
        raise UsageError("there is nothing to remember.")
    given = {
        "text": text,
        "title": args.title,
        "type": args.type,
        "files": args.file,
        "concepts": args.concept,
        "project": args.project,
        "cwd": None if args.project else narrow.here(),
    }
    body = {name: value for name, value in given.items() if value is not None}
    saved = recall("POST", "/api/memory/save", body=body)
    if args.json:
        say.data(saved)
    elif saved["status"] == "known":
        print(f"That is remembered already, as {saved['ref']}.")
    else:
        print(f"Remembered as {saved['ref']}.")
    return OK


def _stdin() -> str:
    raw = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise UsageError(f"that is more than {say.size(MOST_BYTES)}; remember the gist of it.")
    return raw.decode(errors="replace")
