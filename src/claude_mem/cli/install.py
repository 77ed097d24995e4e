"""`claude-mem install` and `uninstall`: connect memory to a coding agent, and disconnect it."""

from __future__ import annotations

import argparse
import difflib
import shlex
import sys
from pathlib import Path
from typing import Any

from claude_mem import settings
from claude_mem.agents import CLAUDE_CODE, FOLDERS, base, file_changes
from claude_mem.agents.base import Agent, Connection, Installation, Wanted
from claude_mem.agents.file_changes import Change, Journal, Plan
from claude_mem.cli import client, observer_choice, output
from claude_mem.cli.commands import Commands, change_flags
from claude_mem.cli.output import confirm
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.structs import replace
from claude_mem.settings import Settings, foreign_database

CHANGES = "This changes Claude Code's settings"
Connections = list[tuple[Agent, Connection]]


def add(commands: Commands) -> None:
    install = commands.add(
        "install",
        more=(
            "Installs a plugin with Claude Code's own commands or, with --settings, adds to\n"
            "its settings file. Running it again changes nothing, or updates it. If Claude\n"
            "Code is not installed yet, it will find claude-mem connected when it is.\n"
            "\n"
            "It asks once who turns events into memory, and saves the answer as\n"
            "CLAUDE_MEM_PROVIDER. With --yes and without --observer, it is your own Claude\n"
            "Code while that is logged in, otherwise offline."
        ),
        example="claude-mem install --dry-run\nclaude-mem install --yes --observer offline",
        run=_install,
    )
    scopes, where = base.installer(CLAUDE_CODE).SCOPES, "for your user, or only for this directory"
    install.add_argument(
        "--settings", action="store_true", help="edit the settings file instead of installing a plugin"
    )
    install.add_argument("--scope", choices=scopes, default="user", help=where)
    install.add_argument("--statusline", action="store_true", help="also add a segment to the status line")
    install.add_argument("--beside", action="store_true", help="leave another claude-mem enabled")
    install.add_argument(
        "--observer",
        choices=observer_choice.NAMES,
        help="who turns events into memory; without it you are asked once",
    )
    which = f"which agent (default: {CLAUDE_CODE})"
    install.add_argument("--agent", choices=sorted(FOLDERS), default=CLAUDE_CODE, help=which)
    more = "Your memory stays in the data directory until you delete it."
    uninstall = commands.add("uninstall", more=more, example="claude-mem uninstall", run=_uninstall)
    for parser in (install, uninstall):
        change_flags(parser, "change")


def connections(chosen: Settings) -> Connections:
    return base.connections(chosen.data_dir, lambda agent: _program(chosen, agent))


def is_connected(chosen: Settings) -> bool:
    """What cannot be read is for `doctor` to report."""
    try:
        return bool(connections(chosen))
    except (ClaudeMemError, OSError):
        return True


def _program(chosen: Settings, agent: Agent) -> str | None:
    return getattr(chosen, agent.program_setting) if agent.program_setting else None


def _lock() -> Any:
    return file_changes.install_lock(output.waiting("Waiting for another claude-mem install to finish ..."))


def _install(args: argparse.Namespace) -> int:
    from claude_mem import wiring

    agent = base.load(args.agent)
    with _lock():
        data_dir = settings.data_directory().absolute()
        if problem := wiring.foreign(Settings(data_dir=data_dir)):
            raise ClaudeMemError(
                f"{problem}\nIt was not changed. Use a separate directory:\n"
                "  export CLAUDE_MEM_DATA_DIR=~/.claude-mem-py\n  claude-mem install"
            )
        chosen = replace(client.load_settings(), data_dir=data_dir)
        may_ask = sys.stdin.isatty() and not (args.yes or args.dry_run)
        chosen, choice = observer_choice.change(
            chosen, args.observer, observer_choice.ask(chosen) if may_ask else None
        )
        # A settings file of the user's is not the install's to take back.
        new = ((choice.path, choice.after or ""),) if choice and choice.before is None else ()
        own = Plan((choice,)) if choice and not new else Plan()
        wanted = Wanted(args.scope, not args.settings, not args.beside, args.statusline, new)
        prepared = base.installer(agent.name).prepare(data_dir, _program(chosen, agent), wanted)
        plans = [*(undo for _, undo in prepared.old), prepared.plan, own]
        if args.dry_run:
            text = _text(plans) or "Already connected; nothing would change."
            return output.result(_data(plans) | {"dry_run": True}, text, as_json=args.json)
        connects = bool(prepared.old) or not prepared.plan.is_empty
        if connects or not own.is_empty:
            for each, undo in prepared.old:
                output.message(f"Currently connected {each.how}; that is removed first:\n{_summary(undo)}")
            output.message("\n".join(filter(None, map(_summary, (prepared.plan, own)))))
            if prepared.replaces:
                theirs = f"another claude-mem ({prepared.replaces})"
                output.message(f"  replace {theirs}; --beside keeps it enabled")
            if code := confirm(f"Connect claude-mem to {agent.title}?", CHANGES, yes=args.yes):
                return code
            with output.waiting(f"Waiting for {agent.title} ..."), Journal() as journal:
                if connects:
                    prepared.connect(journal)
                for change in own.changes:
                    journal.apply(change, ())
    if choice is not None:
        _stop(data_dir)  # the next hook starts it again, with the observer that was chosen
    return _report(chosen, agent, prepared, args)


def _report(chosen: Settings, agent: Agent, prepared: Installation, args: argparse.Namespace) -> int:
    from claude_mem import wiring
    from claude_mem.imports.sources import adoptable

    planned, observer = prepared.plan, wiring.choice(chosen)
    for note in planned.notes:
        output.message(note)
    if theirs := adoptable(chosen):
        output.message(f"Found the memory of another claude-mem: {theirs}. To import it: claude-mem adopt")
    if observer.problem:
        output.message(f"No notes can be written yet; events are kept until then: {observer.problem}")
    already = " already" if planned.is_empty else ""
    done = f"Connected to {agent.title}{already}."
    if prepared.client is None:
        later = f"{agent.title} is not installed yet; it will find claude-mem connected when it is."
        done = f"Ready{already}. {later}"
    steps = next_steps(chosen, observer.provider, missing="" if prepared.client else agent.title)
    data = {"changed": not planned.is_empty, "client": prepared.client, "provider": observer.provider}
    text = "\n".join([output.Paint(sys.stdout)("green", done), *steps])
    return output.result(_data([planned]) | data, text, as_json=args.json)


def next_steps(chosen: Settings, provider: str, *, missing: str = "") -> list[str]:
    """`missing`: the agent, if it is not installed yet."""
    begin = f"install {missing} and start a session" if missing else "start a new session"
    look = "/mem in a session, or claude-mem search"
    if chosen.data_dir != Path.home() / ".claude-mem":
        look += ", with CLAUDE_MEM_DATA_DIR set"
    return [
        f"Next    {begin}: it will be remembered. To import past sessions: claude-mem backfill.",
        f"Data    {output.short_path(chosen.data_dir)}, readable only by you. To search it: {look}.",
        "Pause   claude-mem off, and on again. One session: /mem off in it, or CLAUDE_MEM_OFF=1 before it.",
        f"Model   {observer_choice.cost(chosen, provider)}",
        "Undo    claude-mem uninstall; your memory stays. To check that it works: claude-mem doctor",
    ]


def _uninstall(args: argparse.Namespace) -> int:
    with _lock():
        # Whatever lies in the data directory: a user who wants to be rid of us must be able to.
        chosen = replace(settings.load(), data_dir=settings.data_directory().absolute())
        found = connections(chosen)
        plans = [connection.undo_plan() for _, connection in found]
        agents = " and ".join(dict.fromkeys(agent.title for agent, _ in found))
        if not found or args.dry_run:
            return output.result(
                _data(plans), _text(plans) or "Not connected to Claude Code.", as_json=args.json
            )
        output.message("\n".join(map(_summary, plans)))
        if code := confirm(f"Disconnect claude-mem from {agents}?", CHANGES, yes=args.yes):
            return code
        with output.waiting(f"Waiting for {agents} ..."), Journal() as journal:
            for (_, connection), how in zip(found, plans, strict=True):
                for refusal in connection.disconnect(journal, how):
                    output.message(refusal)
        data_dirs = dict.fromkeys(connection.data_dir for _, connection in found)
        lines = [f"Disconnected from {agents}; its settings are as they were before."]
        lines += [line for data_dir in data_dirs if (line := _stopped(data_dir))]
        for note in (note for how in plans for note in how.notes):
            output.message(note)
        return output.result(_data(plans), "\n".join(lines), as_json=args.json)


def _stopped(data_dir: Path) -> str | None:
    """Stop the worker of a data directory, and say what becomes of the memory in it."""
    _stop(data_dir)
    if not data_dir.exists():
        return None
    if foreign_database.is_shared(data_dir):
        return f"Your memory stays in {data_dir}, which another program also uses."
    return f"Your memory stays in {data_dir}. To delete it: rm -r {shlex.quote(str(data_dir))}"


def _stop(data_dir: Path) -> None:
    from claude_mem.serve import control

    try:
        control.stop(data_dir)
    except ClaudeMemError as error:
        output.message(f"The worker was left running: {error}")


def _text(plans: list[Plan]) -> str:
    """Everything that would change, as a diff."""
    parts = []
    for how in plans:
        parts += [_diff(change) for change in how.changes]
        parts += [f"run {shlex.join(step.words)}\n" for step in how.steps]
    return "".join(parts).rstrip("\n")


def _diff(change: Change) -> str:
    if change.before is None:
        lines = (change.after or "").splitlines()
        return f"new file {change.path} ({output.plural(len(lines), 'line')})\n"
    if change.after is None:
        return f"remove {change.path}\n"
    before, after = change.before.splitlines(keepends=True), change.after.splitlines(keepends=True)
    diff = difflib.unified_diff(before, after, str(change.path), str(change.path))
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in diff)


def _summary(how: Plan) -> str:
    """One line for every file of the user's, one for all that are only ours, one for each command."""
    changed = [change for change in how.changes if change.before is not None and change.after is not None]
    new = [change.path for change in how.changes if change.before is None]
    gone = [change.path for change in how.changes if change.after is None]
    lines = [f"  change {change.path}" for change in changed]
    lines += [f"  write {output.plural(len(new), 'new file')}, such as {new[0]}"] if new else []
    lines += [f"  remove {output.plural(len(gone), 'file')}, such as {gone[0]}"] if gone else []
    lines += [f"  run {output.fit(shlex.join(step.words), 97)}" for step in how.steps]
    return "\n".join(lines)


def _data(plans: list[Plan]) -> dict[str, Any]:
    changes = [change for how in plans for change in how.changes]
    return {
        "files": [str(change.path) for change in changes if change.after is not None],
        "removed": [str(change.path) for change in changes if change.after is None],
        "commands": [list(step.words) for how in plans for step in how.steps],
    }
