"""`claude-mem uninstall`: disconnects memory from Claude Code; what was there before is there again."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from claude_mem.cli import say
from claude_mem.cli.commands import OK, Commands
from claude_mem.cli.consent import refused
from claude_mem.cli.install import carry, edge, found, place, show
from claude_mem.cli.install.journal import Journal
from claude_mem.model.errors import ClaudeMemError
from claude_mem.settings import Settings, foreign_database


def add(commands: Commands) -> argparse.ArgumentParser:
    return commands.add(
        "uninstall",
        more="Memory stays where it is, until you remove the data directory.",
        example="claude-mem uninstall",
        run=_run,
    )


def _run(args: argparse.Namespace) -> int:
    with edge.alone():
        return _disconnect(place.chosen_anyway(), args)


def _disconnect(chosen: Settings, args: argparse.Namespace) -> int:
    connected = found.connections(chosen)
    plans = [carry.backwards(each) for each in connected]
    if not connected or args.dry_run:
        if args.json:
            say.data(show.data(*plans))
        else:
            said = "".join(show.changed(how) for how in plans)
            print(said or "It is not connected to Claude Code.", end="" if said else "\n")
        return OK
    say.talk("\n".join(show.brief(how) for how in plans))
    if code := refused("Disconnect claude-mem from Claude Code?", "This changes its settings", yes=args.yes):
        return code
    with Journal() as journal:
        for each, how in zip(connected, plans, strict=True):
            for said in carry.back(journal, each, how):
                say.talk(said)
    data_dirs = dict.fromkeys(each.place.record.parent for each in connected)
    for data_dir in data_dirs:
        _stop_worker(data_dir)
    for how in plans:
        for note in how.notes:
            say.talk(note)
    if args.json:
        say.data(show.data(*plans))
        return OK
    print("Disconnected from Claude Code; its settings are as they were before.")
    for data_dir in data_dirs:
        if data_dir.exists():
            print(_kept(data_dir))
    return OK


def _kept(data_dir: Path) -> str:
    if foreign_database.is_shared(data_dir):
        return f"Memory stays in {data_dir}, beside that of another program."
    return f"Memory stays in {data_dir}. To delete it: rm -r {shlex.quote(str(data_dir))}"


def _stop_worker(data_dir: Path) -> None:
    from claude_mem.serve import control

    try:
        control.stop(data_dir)
    except ClaudeMemError as error:
        say.talk(f"The worker was left running: {error}")
