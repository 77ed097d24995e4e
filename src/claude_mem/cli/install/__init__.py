"""`claude-mem install`: connects memory to Claude Code."""

from __future__ import annotations

import argparse
import sys

from claude_mem import __version__
from claude_mem.cli import say
from claude_mem.cli.command import OK, Commands, json_flag
from claude_mem.cli.consent import refused
from claude_mem.cli.install import carry, closing, edge, place, plan, record, show, uninstall
from claude_mem.cli.install.place import Place
from claude_mem.cli.install.plan import Plan, Wanted
from claude_mem.cli.install.record import Record
from claude_mem.clients.claude_code import others, settings_file
from claude_mem.settings import Settings

SCOPES = ("user", "project")


def add(commands: Commands) -> None:
    install = commands.add(
        "install",
        "connect it to Claude Code: hooks, MCP server, skills and /mem",
        more=(
            "As a plugin, by the client's own commands; or with --settings, written into its settings\n"
            "file beside what is there. Doing it again changes nothing, or brings it up to date.\n"
            "Without Claude Code it is made ready, and works when that is installed."
        ),
        example="claude-mem install --dry-run\nclaude-mem install",
        run=_install,
    )
    install.add_argument("--settings", action="store_true", help="write settings instead of a plugin")
    install.add_argument("--scope", choices=SCOPES, default="user", help="for you, or only in this directory")
    install.add_argument("--statusline", action="store_true", help="also show a segment in the status line")
    install.add_argument("--beside", action="store_true", help="leave another claude-mem switched on")
    for parser in (install, uninstall.add(commands)):
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would change, and change nothing"
        )
        parser.add_argument("--yes", action="store_true", help="do not ask")
        json_flag(parser)


def _install(args: argparse.Namespace) -> int:
    chosen = place.chosen()
    here = place.find(chosen, args.scope)
    found = settings_file.parsed(edge.read(here.settings) or "", str(here.settings))
    theirs = _named(found)
    wanted = Wanted(not args.settings, bool(theirs) and not args.beside, args.statusline)
    made = record.load(here.record)
    moves = made is not None and not made.is_like(Record(wanted.plugin, here.scope, str(here.folder)))
    if moves and made and (code := _move_away(chosen, made, args)):
        return code
    planned = plan.plan(here, wanted, place.texts(), __version__, edge.read)
    if args.dry_run:
        return _shown(planned, args)
    if not planned.is_empty:
        say.talk(show.brief(planned.changes, (), planned.commands))
        if wanted.take_over:
            say.talk(f"  take over from another claude-mem ({theirs}); --beside leaves it on")
        if code := refused("Connect claude-mem to Claude Code?", "This changes its settings", yes=args.yes):
            return code
        carry.out(here, planned, by_plugin=wanted.plugin)
    return _told(chosen, here, planned, args)


def _named(found: dict[str, object]) -> str:
    """Another claude-mem in these settings, in words; "" if there is none."""
    hooks = others.hooks(found)
    return ", ".join([*others.plugins(found), *([say.many(hooks, "hook")] if hooks else [])])


def _move_away(chosen: Settings, made: Record, args: argparse.Namespace) -> int | None:
    """One place at a time: two would run every hook twice. Returns the exit code if the user would not."""
    would = "would be" if args.dry_run else "is"
    say.talk(f"It is connected {made.mode} now; that {would} taken back first.")
    if args.dry_run:
        return None
    if code := refused("Go on?", "This changes how it is connected", yes=args.yes):
        return code
    there = place.at(place.find(chosen, made.scope), made.folder)
    carry.back(there, made, carry.backwards(there, made))
    return None


def _shown(planned: Plan, args: argparse.Namespace) -> int:
    if args.json:
        say.data(show.data(planned.changes, (), planned.commands) | {"dry_run": True})
    elif planned.is_empty:
        print("It is connected already; nothing would change.")
    else:
        print(show.changed(planned.changes, (), planned.commands), end="")
    return OK


def _told(chosen: Settings, here: Place, planned: Plan, args: argparse.Namespace) -> int:
    from claude_mem import wiring

    provider = wiring.choice(chosen).provider
    for note in planned.notes:
        say.talk(note)
    if args.json:
        said = {"changed": not planned.is_empty, "client": here.client, "provider": provider}
        say.data(show.data(planned.changes, (), planned.commands) | said)
        return OK
    paint = say.Paint(sys.stdout)
    done = "Connected to Claude Code." if not planned.is_empty else "Connected to Claude Code already."
    if here.client is None:
        done = "Ready. Claude Code is not installed yet; it will find claude-mem connected when it is."
    print(paint("green", done))
    print("\n".join(closing.lines(chosen, provider, client=here.client is not None)))
    return OK
