"""`claude-mem projects`: list them; rename, merge or remove one."""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from typing import Any

from claude_mem.cli import output
from claude_mem.cli.client import request, slow_request
from claude_mem.cli.commands import Commands, UsageError, change_flags, corrections
from claude_mem.cli.output import clean, fit, pad
from claude_mem.hook import notices

NAME, AGE, COUNT, SIZE = 20, 8, 8, 10


def add(commands: Commands) -> None:
    parser = commands.add("projects", run=_list)
    verbs = parser.subcommands()
    rename = verbs.add("rename", "rename a project", run=_rename)
    rename.argument("old", "OLD", "its name or key")
    rename.argument("new", "NEW", "the new name")
    merge = verbs.add("merge", "move everything in one project into another", run=_merge)
    merge.argument("gone", "FROM", "the project to merge: its name or key")
    merge.argument("into", "INTO", "the project to keep")
    remove = verbs.add("remove", "delete a project permanently", run=_remove)
    remove.argument("name", "NAME", "its name or key")
    remove.flag("--also-exports", corrections.ALSO_EXPORTS)
    remove.flag("--for-team", corrections.FOR_TEAM)
    for verb in (rename, merge, remove):
        change_flags(verb, "change")


def _overview() -> dict[str, Any]:
    return slow_request("Measuring ...", "GET", "/api/projects/overview")


def _list(args: argparse.Namespace) -> int:
    """A project is a git remote or, without one, a directory. If two projects seem to be the same (a moved
    directory, a remote that was added later), the command to merge them is shown.

    Example:
      claude-mem projects
      claude-mem projects rename shop 'the shop'
      claude-mem projects merge /home/ada/old-shop shop
      claude-mem projects remove scratch --dry-run
    """
    found = _overview()
    hints = "\n".join(map(merge_hint, found["hints"]))
    page = output.page(found, "items")
    return output.listing(args, page, page["items"], table, "No projects yet.", hints)


def table(items: list[dict[str, Any]]) -> str:
    now, key_width = time.time(), max(20, output.terminal() - (NAME + AGE + 2 * COUNT + SIZE + 6))
    counts = f"{'sessions':>{COUNT}} {'memories':>{COUNT}} {'size':>{SIZE}}"
    lines = [output.Paint(sys.stdout)("dim", f"{'project':<{NAME}} {'last':<{AGE}} {counts}  key")]
    for item in items:
        at = item["last_at_epoch"]
        cells = (
            pad(fit(item["name"], NAME), NAME),
            pad(notices.age(now - at / 1000) if at else "never", AGE),
            f"{item['sessions']:>{COUNT},}",
            f"{item['observations']:>{COUNT},}",
            f"{output.size(item['characters']):>{SIZE}}",
        )
        missing = "(directory gone) " if item["root"] and not item["is_there"] else ""
        lines.append(f"{' '.join(cells)}  {fit(missing + item['key'], key_width)}".rstrip())
    return "\n".join(lines)


def merge_hint(hint: dict[str, Any]) -> str:
    source, into = (clean(shlex.quote(hint[name])) for name in ("from", "into"))
    names = " and ".join(dict.fromkeys(map(clean, hint["names"])))
    return (
        f"{names} may be one project: {clean(hint['why'])}. If so: claude-mem projects merge {source} {into}"
    )


def _rename(args: argparse.Namespace) -> int:
    """Applies to existing and future memory.

    Example:
      claude-mem projects rename shop 'the shop'
    """
    if args.dry_run:
        item = _one(args.old)
        answer = {"dry_run": True, "key": item["key"], "before": item["name"], "name": args.new}
    else:
        body = {"project": args.old, "name": args.new}
        answer = slow_request("Renaming ...", "POST", "/api/projects/rename", body)
    verb = "would be" if args.dry_run else "is now"
    return output.result(args, answer, clean(f"{answer['before']} {verb} {answer['name']}."))


def _merge(args: argparse.Namespace) -> int:
    """Moves sessions, memories and index entries; future sessions follow.

    Example:
      claude-mem projects merge /home/ada/old-shop shop --dry-run
    """
    body: dict[str, object] = {"from": args.gone, "into": args.into}
    answer = request("POST", "/api/projects/merge", body=body | {"dry_run": True})
    counts = [output.plural(answer[f"{one}s"], one) for one in ("session", "observation")]
    what, into = f"{_named(answer['from'])} ({', '.join(counts)})", _named(answer["into"])
    if not args.dry_run:
        question = f"Merge {what} into {into}? This cannot be undone."
        if code := output.confirm(question, "A merge cannot be undone", yes=args.yes):
            return code
        answer = slow_request("Merging ...", "POST", "/api/projects/merge", body | {"confirm": True})
    verb = "would become" if args.dry_run else "is now"
    return output.result(args, answer, f"{what} {verb} part of {into}.")


def _remove(args: argparse.Namespace) -> int:
    """Same as `claude-mem forget --project`: shows what will be deleted, and asks.

    Example:
      claude-mem projects remove scratch --dry-run
    """
    return corrections.forget({"project": _one(args.name)["key"]}, args)


def _one(given: str) -> dict[str, Any]:
    """Finds a project by its key, or by its name if only one has it."""
    items = _overview()["items"]
    found = [item for item in items if given == item["key"] or given in item["merged"]]
    found = found or [item for item in items if given == item["name"]]
    if not found:
        raise UsageError(f"No project named {given!r}. To list all: claude-mem projects")
    if len(found) > 1:
        keys = ", ".join(item["key"] for item in found)
        raise UsageError(f"{len(found)} projects are named {given!r}. Use a key instead: {keys}.")
    return dict(found[0])


def _named(project: dict[str, Any]) -> str:
    name, key = clean(project["name"]), clean(project["key"])
    return name if name == key else f"{name} [{key}]"
