"""`claude-mem remember` and `pin`."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches

from claude_mem.cli import filter_flags, output
from claude_mem.cli.client import request
from claude_mem.cli.commands import Commands, UsageError
from claude_mem.model.refs import TYPES

MOST_BYTES = 400_000
NEAR = 3  # names that may have been meant


def add(commands: Commands) -> None:
    parser = commands.add(
        "remember",
        more=(
            "Saved in this directory's project unless you pass --project. To start a project\n"
            "that does not exist yet, add --new-project. A lone `-` reads the text from\n"
            "stdin. <private> text is removed."
        ),
        example=(
            "claude-mem remember Deploys need the VPN.\n"
            "claude-mem remember --type decision --file db/schema.sql - < notes.txt"
        ),
        run=_run_remember,
    )
    parser.add_argument("text", nargs="+", metavar="TEXT", help="the text to save, or -")
    parser.add_argument("--title", metavar="T", help="its title (default: made from the text)")
    parser.add_argument("--type", choices=TYPES, metavar="T", help="its type: " + ", ".join(TYPES))
    parser.add_argument("--file", action="append", metavar="F", help="a related path; may be repeated")
    parser.add_argument("--concept", action="append", metavar="C", help="a concept; may be repeated")
    parser.add_argument("--project", metavar="P", help="the project it belongs to: its name or key")
    create = "create the project P if it does not exist"
    parser.add_argument("--new-project", action="store_true", help=create)
    parser = commands.add("pin", example="claude-mem pin 123\nclaude-mem pin --off 123 124", run=_run_pin)
    parser.add_argument("refs", nargs="+", metavar="ID", help="an id from `search`")
    parser.add_argument("--off", action="store_true", help="unpin")
    parser.add_argument("--team", action="store_true", help="also pin for the team; only your own memories")


def _run_remember(args: argparse.Namespace) -> int:
    text = _stdin() if args.text == ["-"] else " ".join(args.text)
    if not text.strip():
        raise UsageError("No text to save.")
    if args.new_project and not args.project:
        raise UsageError("--new-project needs --project P.")
    if args.project and not args.new_project:
        _know(args.project)
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
    return output.result(saved, text, as_json=args.json)


def _know(project: str) -> None:
    """A typo must not become a project."""
    try:
        request("GET", "/api/sessions", {"project": project, "limit": 1})
    except UsageError:
        listed = request("GET", "/api/projects", {"limit": filter_flags.MOST})["items"]
        names = {str(each["name"]).lower(): str(each["name"]) for each in listed}
        meant = [names[near] for near in get_close_matches(project.lower(), names, NEAR)]
        hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
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
        output.result(answer, text, as_json=args.json)
    return output.missing(answer["missing"])
