"""`claude-mem remember`, `pin` and `forget`."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches
from typing import Any

from claude_mem.cli import filter_flags, memory_text, output
from claude_mem.cli.client import request, slow_request
from claude_mem.cli.commands import OK, Commands, UsageError, change_flags
from claude_mem.model.refs import TYPES

MOST_BYTES = 400_000
NEAR = 3  # names that may have been meant


def add(commands: Commands) -> None:
    parser = commands.add("remember", run=_run_remember)
    parser.argument("text", "TEXT", "the text to save, or -", nargs="+")
    parser.argument("--title", "T", "its title (default: made from the text)")
    parser.argument("--type", "T", "its type: " + ", ".join(TYPES), choices=TYPES)
    parser.argument("--file", "F", "a related path; may be repeated", action="append")
    parser.argument("--concept", "C", "a concept; may be repeated", action="append")
    parser.argument("--project", "P", "the project it belongs to: its name or key")
    parser.flag("--new-project", "create the project P if it does not exist")
    parser = commands.add("pin", example="claude-mem pin 123\nclaude-mem pin --off 123 124", run=_run_pin)
    parser.argument("refs", "ID", "an id from `search`", nargs="+")
    parser.flag("--off", "unpin")
    parser.flag("--team", "also pin for the team; only your own memories")
    parser = commands.add("forget", run=_run_forget)
    parser.argument("refs", "ID", "an id from `search`: 123, s4 or p5", nargs="*")
    parser.argument("--session", "ID", "everything in this session")
    parser.argument("--project", "P", "everything in this project (name or key)")
    parser.argument("--file", "F", "everything about this file")
    filter_flags.period(parser)
    parser.argument("--text", "TEXT", "everything that contains this text")
    parser.flag("--also-exports", ALSO_EXPORTS)
    parser.flag("--for-team", FOR_TEAM)
    parser.flag("--status", "list the team's deletions, and the machines that have not applied them yet")
    change_flags(parser, "be deleted")


def _run_remember(args: argparse.Namespace) -> int:
    """Saved in this directory's project unless you pass --project. To start a project that does not exist
    yet, add --new-project. A lone `-` reads the text from stdin. <private> text is removed.

    Example:
      claude-mem remember Deploys need the VPN.
      claude-mem remember --type decision --file db/schema.sql - < notes.txt
    """
    text = _stdin() if args.text == ["-"] else " ".join(args.text)
    if not text.strip():
        raise UsageError("No text to save.")
    if args.new_project and not args.project:
        raise UsageError("--new-project needs --project P.")
    if args.project and not args.new_project:
        _require_project(args.project)
    given = {
        "text": text,
        "title": args.title,
        "type": args.type,
        "files": args.file,
        "concepts": args.concept,
        "project": args.project,
        "cwd": None if args.project else filter_flags.here(),
    }
    body = {name: value for name, value in given.items() if value is not None}
    saved = request("POST", "/api/memory/save", body=body)
    text = f"Already saved as {saved['ref']}." if saved["status"] == "known" else f"Saved as {saved['ref']}."
    return output.result(args, saved, text)


def _require_project(project: str) -> None:
    """Checks that the project exists, so that a typo does not create one."""
    try:
        request("GET", "/api/sessions", {"project": project, "limit": 1})
    except UsageError:
        listed = request("GET", "/api/projects", {"limit": filter_flags.MOST})["items"]
        names = {str(each["name"]).lower(): str(each["name"]) for each in listed}
        similar = [names[near] for near in get_close_matches(project.lower(), names, NEAR)]
        hint = f" Did you mean {' or '.join(similar)}?" if similar else ""
        raise UsageError(f"No project named {project!r}.{hint} To create it, add --new-project.") from None


def _stdin() -> str:
    raw = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise UsageError(f"The text is longer than {output.size(MOST_BYTES)}. Save a summary instead.")
    return raw.decode(errors="replace")


def _run_pin(args: argparse.Namespace) -> int:
    pinning = {"ids": args.refs, "pinned": not args.off}
    if args.team:
        team = request("POST", "/api/sharing/pin", body=pinning)
        if others := team["missing"] if not args.off else ():
            output.message(f"claude-mem: Not pinned for the team (not your own): {', '.join(others)}.")
    answer = request("POST", "/api/memory/pin", body=pinning)
    state = "no longer pinned" if args.off else "pinned"
    if args.json or answer["results"]:
        text = "\n".join(f"{each['ref']} is {state}." for each in answer["results"])
        output.result(args, answer, text)
    return output.missing(answer["missing"])


COUNTED = {
    "sessions": "session",
    "observations": "observation",
    "summaries": "summary",
    "prompts": "prompt",
    "evidence": "raw tool event",
}
FOR_TEAM = "also delete other members' memories for the team (for admins of the project)"
ALSO_EXPORTS = "also remove it from files written by `export`"
COPY_STATES = {
    "holds": "Also found in",
    "rewritten": "Removed from",
    "removed": "Deleted",
    "left": "Not removed from",
}
FILTERS = ("session", "project", "file", "since", "until", "text")


def _run_forget(args: argparse.Namespace) -> int:
    """Shows everything that matches all the filters, asks, and deletes it, also from backups. Lists the files
    written by `export` that contain it; --also-exports removes it from them too.

    Example:
      claude-mem forget 123 s4
      claude-mem forget --project shop --until 2025-12-31 --dry-run
      claude-mem forget --text 'internal host name' --yes
    """
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
    lines = []
    for each in found["items"]:
        waiting = ", ".join(_waiting(machine, each) for machine in each["waiting_for"])
        what = f"{each['kind']} in {output.clean(each['project'])}, by {output.clean(each['by'])}"
        lines.append(f"{each['id']}  {what}: {f'waiting for {waiting}' if waiting else 'done'}")
    if found["unreported"]:
        lines.append(f"Not yet reported to the server: {found['unreported']:,}")
    text = "\n".join(lines) or "No deletions."
    return output.result(args, found, text)


def _waiting(machine: str, status: dict[str, Any]) -> str:
    answer = " (refused)" if machine in status["refused"] else ""
    return output.clean(machine) + (" (waiting for consent)" if machine in status["consent"] else answer)


def forget(selection: dict[str, object], args: argparse.Namespace) -> int:
    """`args`: dry_run, yes, json, also_exports and for_team."""
    body = selection | {"dry_run": True}
    found = slow_request("Searching, including backups ...", "POST", "/api/memory/forget", body)
    copies = [
        copy
        for copy in found.get("elsewhere") or []
        if copy["done"] == "holds" and (copy["kind"] != "export" or args.also_exports)
    ]
    counted = _counted(found)
    if args.dry_run or not (counted or copies):
        return _report_deleted(args, found)
    if found["sample"] and not args.json:
        print(memory_text.table(found["sample"]))
    what = counted or output.plural(len(copies), "copy")
    if code := output.confirm(f"Permanently delete {what}?", "forget deletes permanently", yes=args.yes):
        return code
    body = selection | {"confirm": True, "exports": args.also_exports, "for_team": args.for_team}
    deleted = slow_request("Deleting, and rewriting backups ...", "POST", "/api/memory/forget", body)
    return _report_deleted(args, deleted)


def _report_deleted(args: argparse.Namespace, answer: dict[str, Any]) -> int:
    if args.json:
        output.print_json(answer)
        return OK
    counted = _counted(answer)
    if counted and answer["dry_run"] and answer["sample"]:
        print(memory_text.table(answer["sample"]))
    deleted = f"{counted} would be deleted." if answer["dry_run"] else f"Deleted: {counted}."
    print(deleted if counted else "No results.")
    if others := answer.get("of_others"):
        fate = "They stay with the team. An admin of the project can delete them for everyone: --for-team"
        if args.for_team and not answer["dry_run"]:
            fate = "--for-team deletes them for the whole team."
        output.message(f"Other members wrote {others} of these. {fate}")
    for line in copies_text(answer):
        output.message(line)
    return OK


def _counted(answer: dict[str, Any]) -> str:
    return ", ".join(output.plural(answer[name], one) for name, one in COUNTED.items() if answer.get(name))


def copies_text(answer: dict[str, Any]) -> list[str]:
    """Lists the other copies, what was done with each, and what the user still has to do."""
    lines, copies = [], answer.get("elsewhere") or []
    for copy in copies:
        note = f" ({output.clean(copy['note'])})" if copy["note"] else ""
        lines.append(f"{COPY_STATES.get(copy['done'], copy['done'])}: {output.clean(copy['path'])}{note}")
    if any(copy["kind"] == "export" and copy["done"] == "holds" and not copy["note"] for copy in copies):
        lines.append("Exports were not changed. To remove it from them too, add: --also-exports")
    if not answer["dry_run"] and answer.get("backups"):
        still = "copy of the database still contains", "copies of the database still contain"
        backups = output.plural(answer["backups"], *still)
        lines.append(f"{backups} it. Delete the files listed above if it must be gone now.")
    return lines
