"""`claude-mem forget`."""

from __future__ import annotations

import argparse
from typing import Any

from claude_mem.cli import filter_flags, memory_text, output
from claude_mem.cli.client import SLOW_S, request
from claude_mem.cli.commands import OK, Commands, UsageError, change_flags

COUNTED = (
    ("sessions", "session", "sessions"),
    ("observations", "observation", "observations"),
    ("summaries", "summary", "summaries"),
    ("prompts", "prompt", "prompts"),
    ("evidence", "raw tool event", "raw tool events"),
)
FOR_TEAM = "also delete other members' memories for the team (for admins of the project)"
ALSO_EXPORTS = "also remove it from files written by `export`"
DONE = {
    "holds": "Also found in",
    "rewritten": "Removed from",
    "removed": "Deleted",
    "left": "Not removed from",
}
FILTERS = ("session", "project", "file", "since", "until", "text")


def add(commands: Commands) -> None:
    parser = commands.add(
        "forget",
        more=(
            "Shows everything that matches all the filters, asks, and deletes it, also from\n"
            "backups. Lists the files written by `export` that contain it; --also-exports\n"
            "removes it from them too."
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
    parser.add_argument("--for-team", action="store_true", help=FOR_TEAM)
    status = "list the team's deletions, and the machines that have not applied them yet"
    parser.add_argument("--status", action="store_true", help=status)
    change_flags(parser, "be deleted")


def _run(args: argparse.Namespace) -> int:
    if args.status:
        return _run_status(args)
    given = {"ids": args.refs} | {name: getattr(args, name) for name in FILTERS}
    selection: dict[str, object] = {name: value for name, value in given.items() if value}
    if not selection:
        raise UsageError(
            "Specify what to delete: an ID, --session, --project, --file, --since, --until or --text."
        )
    return forget(selection, args)


def _run_status(args: argparse.Namespace) -> int:
    found = request("GET", "/api/sharing/forgets")
    lines = [
        f"{each['id']}  {each['kind']} in {output.clean(each['project'])}, by {output.clean(each['by'])}: "
        + (
            f"waiting for {', '.join(map(output.clean, waiting))}"
            if (waiting := each["waiting_for"])
            else "done"
        )
        for each in found["items"]
    ]
    if found["unreported"]:
        lines.append(f"Not yet reported to the server: {found['unreported']:,}")
    text = "\n".join(lines) or "No deletions."
    return output.result(found, text, as_json=args.json)


def forget(selection: dict[str, object], args: argparse.Namespace) -> int:
    """`args`: dry_run, yes, json, also_exports and for_team."""
    with output.waiting("Searching, including backups ..."):
        body = selection | {"dry_run": True}
        found = request("POST", "/api/memory/forget", body=body, within_s=SLOW_S)
    copies = [
        copy
        for copy in found.get("elsewhere") or []
        if copy["done"] == "holds" and (copy["kind"] != "export" or args.also_exports)
    ]
    counted = _counted(found)
    if args.dry_run or not (counted or copies):
        return _report(found, as_json=args.json)
    if found["sample"] and not args.json:
        memory_text.print_table(found["sample"])
    what = counted or output.plural(len(copies), "copy", "copies")
    if code := output.confirm(f"Permanently delete {what}?", "forget deletes permanently", yes=args.yes):
        return code
    with output.waiting("Deleting, and rewriting backups ..."):
        body = selection | {"confirm": True, "exports": args.also_exports, "for_team": args.for_team}
        deleted = request("POST", "/api/memory/forget", body=body, within_s=SLOW_S)
    return _report(deleted, as_json=args.json, for_team=args.for_team)


def _report(answer: dict[str, Any], *, as_json: bool, for_team: bool = False) -> int:
    if as_json:
        output.print_json(answer)
        return OK
    counted = _counted(answer)
    if counted and answer["dry_run"] and answer["sample"]:
        memory_text.print_table(answer["sample"])
    deleted = f"{counted} would be deleted." if answer["dry_run"] else f"Deleted: {counted}."
    print(deleted if counted else "No results.")
    if others := answer.get("of_others"):
        whole = "--for-team deletes them for the whole team."
        part = "They stay with the team. An admin of the project can delete them for everyone: --for-team"
        output.message(f"Other members wrote {others} of these. {whole if for_team else part}")
    for line in copies_text(answer):
        output.message(line)
    return OK


def _counted(answer: dict[str, Any]) -> str:
    return ", ".join(
        output.plural(answer[name], one, more) for name, one, more in COUNTED if answer.get(name)
    )


def copies_text(answer: dict[str, Any]) -> list[str]:
    """The copies elsewhere, what was done with them, and what is left to do."""
    lines, copies = [], answer.get("elsewhere") or []
    for copy in copies:
        note = f" ({output.clean(copy['note'])})" if copy["note"] else ""
        lines.append(f"{DONE.get(copy['done'], copy['done'])}: {output.clean(copy['path'])}{note}")
    if any(copy["kind"] == "export" and copy["done"] == "holds" and not copy["note"] for copy in copies):
        lines.append("Exports were not changed. To remove it from them too, add: --also-exports")
    if not answer["dry_run"] and answer.get("backups"):
        still = "copy of the database still contains", "copies of the database still contain"
        backups = output.plural(answer["backups"], *still)
        lines.append(f"{backups} it. Delete the files listed above if it must be gone now.")
    return lines
