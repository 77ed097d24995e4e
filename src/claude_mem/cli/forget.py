"""`claude-mem forget`."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from claude_mem.cli import columns, consent, memories, narrow, say
from claude_mem.cli.command import OK, Commands, UsageError, json_flag

COUNTED = (
    ("sessions", "session", "sessions"),
    ("observations", "observation", "observations"),
    ("summaries", "summary", "summaries"),
    ("prompts", "prompt", "prompts"),
    ("evidence", "piece of evidence", "pieces of evidence"),
)


def add(commands: Commands) -> None:
    parser = commands.add(
        "forget",
        "forget for good: from the database, its indexes and what was rendered",
        more=(
            "What meets all that is said goes, and is shown first. Backups keep what they\n"
            "hold until they are replaced; how many do is said."
        ),
        example=(
            "claude-mem forget 123 s4\n"
            "claude-mem forget --project shop --until 2025-12-31 --dry-run\n"
            "claude-mem forget --text 'internal host name' --yes"
        ),
        run=_run,
    )
    parser.add_argument("refs", nargs="*", metavar="ID", help="as `search` shows it")
    parser.add_argument("--session", metavar="ID", help="all of this session")
    parser.add_argument("--project", metavar="P", help="all of this project: its name or key")
    parser.add_argument("--file", metavar="F", help="all about this file")
    narrow.period(parser)
    parser.add_argument("--text", metavar="TEXT", help="all that holds this text")
    parser.add_argument("--dry-run", action="store_true", help="only show what would go")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    json_flag(parser)


def _run(args: argparse.Namespace) -> int:
    from claude_mem.cli.ask import recall

    selection = _selection(args)
    found = recall("POST", "/api/memory/forget", body=selection | {"dry_run": True})
    nothing = not any(found.get(name) for name, _, _ in COUNTED)
    if args.dry_run or nothing:
        return _say(found, as_data=args.json)
    if not args.json:
        _preview(found)
    question = f"Forget {_counted(found)} for good?"
    code = consent.refused(question, "forget deletes for good", yes=args.yes)
    if code is not None:
        return code
    with say.patiently("Forgetting ..."):
        gone = recall("POST", "/api/memory/forget", body=selection | {"confirm": True})
    return _say(gone, as_data=args.json)


def _selection(args: argparse.Namespace) -> dict[str, object]:
    said = {
        "ids": args.refs or None,
        "session": args.session,
        "project": args.project,
        "file": args.file,
        "since": args.since,
        "until": args.until,
        "text": args.text,
    }
    selection: dict[str, object] = {name: value for name, value in said.items() if value}
    if not selection:
        raise UsageError(
            "say what to forget: an ID, --session, --project, --file, --since, --until or --text."
        )
    return selection


def _say(told: dict[str, Any], *, as_data: bool) -> int:
    if as_data:
        say.data(told)
        return OK
    counted = _counted(told)
    if not counted:
        print("Nothing like that is remembered.")
    elif told["dry_run"]:
        _preview(told)
        print(f"{counted} would go.")
    else:
        print(f"Forgotten: {counted}.")
    if counted and told.get("backups"):
        say.talk(backups(told["backups"]))
    return OK


def _preview(told: dict[str, Any]) -> None:
    if told["sample"]:
        print(memories.table(told["sample"], time.time(), columns.terminal(), say.Paint(sys.stdout)))


def _counted(told: dict[str, Any]) -> str:
    return ", ".join(say.many(told[name], one, more) for name, one, more in COUNTED if told.get(name))


def backups(found: object) -> str:
    """`found`: how many hold it, or their names."""
    which = f": {', '.join(map(str, found))}" if isinstance(found, list) else ", in backups/"
    count = len(found) if isinstance(found, list) else int(str(found))
    return f"{say.many(count, 'backup')} may still hold it{which}. Delete them if it must be gone now."
