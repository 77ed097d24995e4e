"""`claude-mem install`: connects memory to Claude Code."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from claude_mem import __version__
from claude_mem.agents.claude_code import hooks as claude_code_hooks
from claude_mem.agents.claude_code import settings_file
from claude_mem.cli import say
from claude_mem.cli.commands import OK, Commands, json_flag
from claude_mem.cli.consent import refused
from claude_mem.cli.install import carry, closing, edge, found, ours, place, plan, record, show, uninstall
from claude_mem.cli.install.found import Connection
from claude_mem.cli.install.journal import Journal
from claude_mem.cli.install.place import SCOPES, Place
from claude_mem.cli.install.plan import Plan, Wanted
from claude_mem.settings import Settings


def add(commands: Commands) -> None:
    install = commands.add(
        "install",
        more=(
            "As a plugin, by the client's own commands; or with --settings, written into its\n"
            "settings file beside what is there. Doing it again changes nothing, or brings it\n"
            "up to date. Without Claude Code it is made ready, and works when that is\n"
            "installed."
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
    with edge.alone():
        return _connect(place.chosen(), args)


def _connect(chosen: Settings, args: argparse.Namespace) -> int:
    here = place.find(chosen, args.scope)
    moved = [each for each in found.connections(chosen) if not _is_it(each, here, plugin=not args.settings)]
    undone = [(each, carry.backwards(each)) for each in moved]
    left = {path: text for each, how in undone for path, text in carry.after(how, each).items()}

    def read(path: Path) -> str | None:
        return left[path] if path in left else edge.read(path)

    theirs = _named(settings_file.parsed(read(here.settings) or "", str(here.settings)))
    line = args.statusline or any(_has_line(each.place) for each in moved)
    wanted = Wanted(not args.settings, bool(theirs) and not args.beside, line)
    older = [path for path in carry.marketed(here) if path not in left] if wanted.plugin else []
    planned = plan.plan(here, wanted, place.texts(), __version__, read, older)
    if args.dry_run:
        return _shown([*(how for _, how in undone), planned], args)
    if moved or not planned.is_empty:
        for each, how in undone:
            say.talk(f"It is connected {each.made.mode} now; that is taken back first:\n{show.brief(how)}")
        say.talk(show.brief(planned))
        if wanted.take_over:
            say.talk(f"  take over from another claude-mem ({theirs}); --beside leaves it on")
        if code := refused("Connect claude-mem to Claude Code?", "This changes its settings", yes=args.yes):
            return code
        with Journal() as journal:
            for each, how in undone:
                carry.back(journal, each, how)
            carry.out(journal, here, planned, by_plugin=wanted.plugin)
    return _told(chosen, here, planned, args)


def _is_it(each: Connection, here: Place, *, plugin: bool) -> bool:
    """The one that is wanted, perhaps not up to date. One place at a time: two would run every hook twice."""
    is_here = each.place.record == here.record and each.is_recorded
    return is_here and each.made.is_like(record.new(here, plugin=plugin))


def _has_line(there: Place) -> bool:
    """Our status line is shown; it moves with the rest."""
    return ours.is_status_line(settings_file.parsed(edge.read(there.settings) or "", str(there.settings)))


def _named(settings: dict[str, object]) -> str:
    """Another claude-mem in these settings, in words; "" if there is none."""
    hooks = claude_code_hooks.foreign_hooks(settings)
    return ", ".join(
        [*claude_code_hooks.foreign_plugins(settings), *([say.many(hooks, "hook")] if hooks else [])]
    )


def _shown(plans: list[Plan], args: argparse.Namespace) -> int:
    if args.json:
        say.data(show.data(*plans) | {"dry_run": True})
    elif all(each.is_empty for each in plans):
        print("It is connected already; nothing would change.")
    else:
        print("".join(show.changed(each) for each in plans), end="")
    return OK


def _told(chosen: Settings, here: Place, planned: Plan, args: argparse.Namespace) -> int:
    from claude_mem import wiring
    from claude_mem.wiring.adopting import adoptable

    provider = wiring.choice(chosen).provider
    for note in planned.notes:
        say.talk(note)
    if theirs := adoptable(chosen):
        say.talk(f"Found {theirs}, the memory of another claude-mem. To take it over: claude-mem adopt")
    if args.json:
        said = {"changed": not planned.is_empty, "client": here.client, "provider": provider}
        say.data(show.data(planned) | said)
        return OK
    paint = say.Paint(sys.stdout)
    already = " already" if planned.is_empty else ""
    done = f"Connected to Claude Code{already}."
    if here.client is None:
        done = (
            f"Ready{already}. Claude Code is not installed yet; it will find claude-mem connected when it is."
        )
    print(paint("green", done))
    print("\n".join(closing.lines(chosen, provider, client=here.client is not None)))
    return OK
