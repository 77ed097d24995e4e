"""`claude-mem projects`: list them; rename, merge or remove one."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Sequence
from typing import Any

from claude_mem.cli import output
from claude_mem.cli.client import SLOW_S, request
from claude_mem.cli.commands import OK, Commands, UsageError, change_flags, forget, json_flag
from claude_mem.cli.output import Paint, fit, pad
from claude_mem.hook import notices

NAME, AGE, COUNT, SIZE = 20, 8, 8, 10


def add(commands: Commands) -> None:
    parser = commands.add(
        "projects",
        more=(
            "A project is a git remote or, without one, a directory. If two projects look\n"
            "like one (a moved directory, a remote that was added later), the command that\n"
            "merges them is shown."
        ),
        example=(
            "claude-mem projects\n"
            "claude-mem projects rename shop 'the shop'\n"
            "claude-mem projects merge /home/ada/old-shop shop\n"
            "claude-mem projects remove scratch --dry-run"
        ),
        run=_list,
    )
    json_flag(parser)
    verbs = Commands(parser.add_subparsers(title="commands", metavar="COMMAND"))
    rename = verbs.add(
        "rename",
        "give a project another name",
        more="Applies to existing and future memory.",
        example="claude-mem projects rename shop 'the shop'",
        run=_rename,
    )
    rename.add_argument("old", metavar="OLD", help="its name or key")
    rename.add_argument("new", metavar="NEW", help="the new name")
    change_flags(rename, "change")
    merge = verbs.add(
        "merge",
        "move everything in one project into another",
        more="Moves sessions, memories and index entries; future sessions follow.",
        example="claude-mem projects merge /home/ada/old-shop shop --dry-run",
        run=_merge,
    )
    merge.add_argument("gone", metavar="FROM", help="the project to merge: its name or key")
    merge.add_argument("into", metavar="INTO", help="the project to keep")
    change_flags(merge, "change")
    remove = verbs.add(
        "remove",
        "delete a project permanently",
        more="Same as `claude-mem forget --project`: it shows what would be deleted and asks.",
        example="claude-mem projects remove scratch --dry-run",
        run=_remove,
    )
    remove.add_argument("name", metavar="NAME", help="its name or key")
    remove.add_argument("--also-exports", action="store_true", help=forget.ALSO_EXPORTS)
    change_flags(remove, "change")


def _list(args: argparse.Namespace) -> int:
    with output.waiting("Measuring ..."):
        found = request("GET", "/api/projects/overview", within_s=SLOW_S)
    if args.json:
        output.print_json(found)
        return OK
    if found["items"]:
        print(table(found["items"], time.time(), output.terminal(), output.Paint(sys.stdout)))
    else:
        output.message("No projects yet.")
    for hint in found["hints"]:
        output.message(hinted(hint))
    return OK


def table(items: Sequence[dict[str, Any]], now: float, wide: int, paint: Paint) -> str:
    margin = NAME + AGE + 2 * COUNT + SIZE + 6
    counts = f"{'sessions':>{COUNT}} {'memories':>{COUNT}} {'size':>{SIZE}}"
    lines = [paint("dim", f"{'project':<{NAME}} {'last':<{AGE}} {counts}  key")]
    for item in items:
        at = item["last_at_epoch"]
        cells = (
            pad(fit(item["name"], NAME), NAME),
            pad(notices.age(now - at / 1000) if at else "never", AGE),
            f"{item['sessions']:>{COUNT},}",
            f"{item['observations']:>{COUNT},}",
            f"{output.size(item['characters']):>{SIZE}}",
        )
        gone = "(directory gone) " if item["root"] and not item["is_there"] else ""
        lines.append(f"{' '.join(cells)}  {fit(gone + item['key'], max(20, wide - margin))}".rstrip())
    return "\n".join(lines)


def hinted(hint: dict[str, Any]) -> str:
    gone, into = (output.clean(shlex.quote(hint[name])) for name in ("from", "into"))
    names = " and ".join(dict.fromkeys(output.clean(name) for name in hint["names"]))
    why = output.clean(hint["why"])
    return f"{names} may be one project: {why}. If so: claude-mem projects merge {gone} {into}"


def _rename(args: argparse.Namespace) -> int:
    if args.dry_run:
        item = _one(args.old)
        told = {"dry_run": True, "key": item["key"], "before": item["name"], "name": args.new}
    else:
        body = {"project": args.old, "name": args.new}
        told = request("POST", "/api/projects/rename", body=body, within_s=SLOW_S)
    verb = "would be" if args.dry_run else "is now"
    return output.result(told, output.clean(f"{told['before']} {verb} {told['name']}."), as_json=args.json)


def _merge(args: argparse.Namespace) -> int:
    body: dict[str, object] = {"from": args.gone, "into": args.into}
    told = request("POST", "/api/projects/merge", body=body | {"dry_run": True})
    if not args.dry_run:
        question = f"Merge {_what(told)} into {_named(told['into'])}? This cannot be undone."
        code = output.confirm(question, "A merge cannot be undone", yes=args.yes)
        if code is not None:
            return code
        with output.waiting("Merging ..."):
            told = request("POST", "/api/projects/merge", body=body | {"confirm": True}, within_s=SLOW_S)
    verb = "would become" if args.dry_run else "is now"
    return output.result(told, f"{_what(told)} {verb} part of {_named(told['into'])}.", as_json=args.json)


def _remove(args: argparse.Namespace) -> int:
    return forget.forget({"project": _one(args.name)["key"]}, args)


def _one(given: str) -> dict[str, Any]:
    """By its key, or by its name if only one has it."""
    items = request("GET", "/api/projects/overview", within_s=SLOW_S)["items"]
    named = [item for item in items if given == item["key"] or given in item["merged"]]
    named = named or [item for item in items if given == item["name"]]
    if not named:
        raise UsageError(f"No project {given!r}. See: claude-mem projects")
    if len(named) > 1:
        keys = ", ".join(item["key"] for item in named)
        raise UsageError(f"{len(named)} projects are called {given!r}. Use a key: {keys}.")
    return dict(named[0])


def _what(told: dict[str, Any]) -> str:
    many = output.plural(told["sessions"], "session"), output.plural(told["observations"], "observation")
    return f"{_named(told['from'])} ({', '.join(many)})"


def _named(project: dict[str, Any]) -> str:
    name, key = output.clean(project["name"]), output.clean(project["key"])
    return name if name == key else f"{name} [{key}]"
