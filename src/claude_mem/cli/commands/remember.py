"""`claude-mem remember` and `pin`."""

from __future__ import annotations

import argparse
import sys
from difflib import get_close_matches

from claude_mem.cli import narrow, output
from claude_mem.cli.commands import OK, WRONG, Commands, UsageError, json_flag

# `claude-mem remember`.


TYPES = ("bugfix", "feature", "refactor", "change", "discovery", "decision")
MOST_BYTES = 400_000
NEAR = 3  # names that may have been meant


def add(commands: Commands) -> None:
    _add_remember(commands)
    _add_pin(commands)


def _add_remember(commands: Commands) -> None:
    parser = commands.add(
        "remember",
        more=(
            "It belongs to this directory's project unless --project says otherwise; one that\n"
            "is not known yet has to be meant (--new-project). A lone `-` reads the text from\n"
            "standard input. <private> text is left out, as always."
        ),
        example=(
            "claude-mem remember Deploys need the VPN.\n"
            "claude-mem remember --type decision --file db/schema.sql - < notes.txt"
        ),
        run=_run_remember,
    )
    parser.add_argument("text", nargs="+", metavar="TEXT", help="what to remember, or -")
    parser.add_argument("--title", metavar="T", help="its title; else made of the text")
    parser.add_argument("--type", choices=TYPES, metavar="T", help="its type: " + ", ".join(TYPES))
    parser.add_argument("--file", action="append", metavar="F", help="a path it is about; may come again")
    parser.add_argument("--concept", action="append", metavar="C", help="a concept; may come again")
    parser.add_argument("--project", metavar="P", help="whose memory it is: a project's name or key")
    parser.add_argument("--new-project", action="store_true", help="P may be a project nobody knows yet")
    json_flag(parser)


def _run_remember(args: argparse.Namespace) -> int:
    from claude_mem.cli.client import request

    text = _stdin() if args.text == ["-"] else " ".join(args.text)
    if not text.strip():
        raise UsageError("there is nothing to remember.")
    if args.new_project and not args.project:
        raise UsageError("--new-project needs a name: --project P.")
    if args.project and not args.new_project:
        _know(args.project)
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
    saved = request("POST", "/api/memory/save", body=body)
    if args.json:
        output.print_json(saved)
    elif saved["status"] == "known":
        print(f"That is remembered already, as {saved['ref']}.")
    else:
        print(f"Remembered as {saved['ref']}.")
    return OK


def _know(project: str) -> None:
    """A slip of the finger must not become a project nobody looks into."""
    from claude_mem.cli.client import request

    try:
        request("GET", "/api/sessions", {"project": project, "limit": 1})
    except UsageError:
        listed = request("GET", "/api/projects", {"limit": narrow.MOST})["items"]
        names = {str(each["name"]).lower(): str(each["name"]) for each in listed}
        meant = [names[near] for near in get_close_matches(project.lower(), names, NEAR)]
        hint = f" Did you mean {' or '.join(meant)}?" if meant else ""
        raise UsageError(
            f"no project is called {project!r}.{hint} To begin one of that name, add --new-project."
        ) from None


def _stdin() -> str:
    raw = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise UsageError(f"that is more than {output.size(MOST_BYTES)}; remember the gist of it.")
    return raw.decode(errors="replace")


def _add_pin(commands: Commands) -> None:
    parser = commands.add(
        "pin",
        example="claude-mem pin 123\nclaude-mem pin --off 123 124",
        run=_run_pin,
    )
    parser.add_argument("refs", nargs="+", metavar="ID", help="as `search` shows it")
    parser.add_argument("--off", action="store_true", help="no longer")
    json_flag(parser)


def _run_pin(args: argparse.Namespace) -> int:
    from claude_mem.cli.client import request

    answer = request("POST", "/api/memory/pin", body={"ids": args.refs, "pinned": not args.off})
    if args.json:
        output.print_json(answer)
    else:
        for result in answer["results"]:
            print(f"{result['ref']} is {'pinned' if result['pinned'] else 'no longer pinned'}.")
    if answer["missing"]:
        output.message(f"claude-mem: nothing is remembered as {', '.join(map(str, answer['missing']))}.")
        return WRONG
    return OK
