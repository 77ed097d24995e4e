"""`claude-mem forget`."""

from __future__ import annotations

import argparse
from typing import Any

from claude_mem.cli import filter_flags, memories, output
from claude_mem.cli.client import SLOW_S, request
from claude_mem.cli.commands import OK, Commands, UsageError, change_flags

COUNTED = (
    ("sessions", "session", "sessions"),
    ("observations", "observation", "observations"),
    ("summaries", "summary", "summaries"),
    ("prompts", "prompt", "prompts"),
    ("evidence", "piece of evidence", "pieces of evidence"),
)


ALSO_EXPORTS = "also remove it from files written by `export`"
DONE = {
    "holds": "holds it",
    "rewritten": "rewritten without it",
    "removed": "removed",
    "left": "still holds it",
}


def add(commands: Commands) -> None:
    parser = commands.add(
        "forget",
        more=(
            "Deletes everything that matches all the filters, after showing it. Backups are\n"
            "rewritten without it. Files written by `export` are listed, and rewritten too\n"
            "with --also-exports."
        ),
        example=(
            "claude-mem forget 123 s4\n"
            "claude-mem forget --project shop --until 2025-12-31 --dry-run\n"
            "claude-mem forget --text 'internal host name' --yes"
        ),
        run=_run,
    )
    parser.add_argument("refs", nargs="*", metavar="ID", help="an id from `search`: 123, s4 or p5")
    parser.add_argument("--session", metavar="ID", help="everything in this session")
    parser.add_argument("--project", metavar="P", help="everything in this project (name or key)")
    parser.add_argument("--file", metavar="F", help="everything about this file")
    filter_flags.period(parser)
    parser.add_argument("--text", metavar="TEXT", help="everything that contains this text")
    parser.add_argument("--also-exports", action="store_true", help=ALSO_EXPORTS)
    change_flags(parser, "be deleted")


def _run(args: argparse.Namespace) -> int:
    names = ("session", "project", "file", "since", "until", "text")
    given = {"ids": args.refs} | {name: getattr(args, name) for name in names}
    selection: dict[str, object] = {name: value for name, value in given.items() if value}
    if not selection:
        raise UsageError(
            "Specify what to delete: an ID, --session, --project, --file, --since, --until or --text."
        )
    return forget(selection, args)


def forget(selection: dict[str, object], args: argparse.Namespace) -> int:
    """`args`: dry_run, yes, json and also_exports."""
    with output.waiting("Searching, including backups ..."):
        body = selection | {"dry_run": True}
        found = request("POST", "/api/memory/forget", body=body, within_s=SLOW_S)
    nothing = not any(found.get(name) for name, _, _ in COUNTED) and not _touched(found, args)
    if args.dry_run or nothing:
        return _say(found, as_data=args.json)
    if found["sample"] and not args.json:
        memories.print_table(found["sample"])
    what = _counted(found) or output.plural(len(_touched(found, args)), "copy of it", "copies of it")
    code = output.confirm(f"Permanently delete {what}?", "forget deletes permanently", yes=args.yes)
    if code is not None:
        return code
    with output.waiting("Deleting, and rewriting backups ..."):
        body = selection | {"confirm": True, "exports": args.also_exports}
        gone = request("POST", "/api/memory/forget", body=body, within_s=SLOW_S)
    return _say(gone, as_data=args.json)


def _touched(found: dict[str, Any], args: argparse.Namespace) -> list[dict[str, Any]]:
    """What lies elsewhere and would be rewritten or removed; exports only if that was said."""
    lying = found.get("elsewhere") or []
    return [one for one in lying if one["done"] == "holds" and (one["kind"] != "export" or args.also_exports)]


def _say(told: dict[str, Any], *, as_data: bool) -> int:
    if as_data:
        output.print_json(told)
        return OK
    counted = _counted(told)
    if not counted:
        print("No results.")
    elif told["dry_run"]:
        if told["sample"]:
            memories.print_table(told["sample"])
        print(f"{counted} would be deleted.")
    else:
        print(f"Deleted: {counted}.")
    for line in elsewhere(told):
        output.message(line)
    return OK


def _counted(told: dict[str, Any]) -> str:
    return ", ".join(output.plural(told[name], one, more) for name, one, more in COUNTED if told.get(name))


def elsewhere(told: dict[str, Any]) -> list[str]:
    """Where it also lies or lay, and what is to be done about what is left."""
    lying = told.get("elsewhere") or []
    lines = [
        f"{DONE.get(one['done'], one['done'])}: {output.clean(one['path'])}"
        + (f" ({output.clean(one['note'])})" if one["note"] else "")
        for one in lying
    ]
    exports = [one for one in lying if one["kind"] == "export" and one["done"] == "holds" and not one["note"]]
    if exports:
        lines.append("Exported files were not changed. To rewrite them too: --also-exports")
    if not told["dry_run"] and told.get("backups"):
        still = "copy of the database still holds", "copies of the database still hold"
        lines.append(
            f"{output.plural(told['backups'], *still)} it. Delete those yourself if it must be gone now."
        )
    return lines
