"""`claude-mem uninstall`: disconnects memory from Claude Code; what was there before is there again."""

from __future__ import annotations

import argparse

from claude_mem.cli import say
from claude_mem.cli.command import OK, Commands
from claude_mem.cli.consent import refused
from claude_mem.cli.install import carry, edge, place, plan, record, show
from claude_mem.cli.install.place import Place
from claude_mem.cli.install.record import Record
from claude_mem.clients.claude_code import settings_file
from claude_mem.model.errors import ClaudeMemError
from claude_mem.settings import Settings


def add(commands: Commands) -> argparse.ArgumentParser:
    return commands.add(
        "uninstall",
        "disconnect it from Claude Code, and put its settings back as they were",
        more="Memory stays where it is, until you remove the data directory.",
        example="claude-mem uninstall",
        run=_run,
    )


def _run(args: argparse.Namespace) -> int:
    chosen = place.chosen()
    made = record.load(place.find(chosen, "user").record)
    here = place.find(chosen, made.scope if made else "user")
    here = place.at(here, made.folder) if made else here
    known = made or _unrecorded(here)
    how = carry.backwards(here, known)
    if how.is_empty and not made:
        say.data({"removed": []}) if args.json else print("It is not connected to Claude Code.")
        return OK
    if args.dry_run:
        if args.json:
            say.data(show.data(how.changes, how.removed, how.commands))
        else:
            print(show.changed(how.changes, how.removed, how.commands), end="")
        return OK
    say.talk(show.brief(how.changes, how.removed, how.commands))
    if code := refused("Disconnect claude-mem from Claude Code?", "This changes its settings", yes=args.yes):
        return code
    carry.back(here, known, how)
    _stop_worker(chosen)
    for note in how.notes:
        say.talk(note)
    if args.json:
        say.data(show.data(how.changes, how.removed, how.commands))
    else:
        print("Disconnected from Claude Code; its settings are as they were before.")
        print(f"Memory stays in {chosen.data_dir}. To delete it: rm -r {chosen.data_dir}")
    return OK


def _unrecorded(here: Place) -> Record:
    """What an install must have done whose record went with the data directory."""
    found = settings_file.parsed(edge.read(here.settings) or "", str(here.settings))
    return Record(plan.is_declared(found), here.scope, str(here.folder))


def _stop_worker(chosen: Settings) -> None:
    from claude_mem.serve import control

    try:
        control.stop(chosen.data_dir)
    except ClaudeMemError as error:
        say.talk(f"The worker was left running: {error}")
