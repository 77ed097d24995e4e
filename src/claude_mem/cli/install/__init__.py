"""`claude-mem install` and `uninstall`: connect memory to Claude Code, and disconnect it."""

from __future__ import annotations

import argparse
import difflib
import shlex
import sys
from pathlib import Path
from typing import Any

from claude_mem import __version__
from claude_mem.agents.claude_code import hooks as claude_code_hooks
from claude_mem.agents.claude_code import settings_file
from claude_mem.cli import output
from claude_mem.cli.commands import Commands, change_flags
from claude_mem.cli.install import client_paths, connections, file_changes, plan
from claude_mem.cli.install.client_paths import SCOPES, ClientPaths
from claude_mem.cli.install.connections import Connection
from claude_mem.cli.install.file_changes import Journal
from claude_mem.cli.install.plan import Change, Plan, Wanted
from claude_mem.cli.output import confirm
from claude_mem.model.errors import ClaudeMemError
from claude_mem.models import registry
from claude_mem.serve import control
from claude_mem.settings import Settings, foreign_database


def plan_text(how: Plan) -> str:
    parts = [_file(change) for change in how.changes]
    parts += [f"run claude {shlex.join(step.words)}\n" for step in how.steps]
    return "".join(parts)


def plan_summary(how: Plan) -> str:
    """One line for every file of the user's, one for all that are only ours, one for each command."""
    changed = [change for change in how.changes if change.before is not None and change.after is not None]
    new = [change.path for change in how.changes if change.before is None]
    gone = [change.path for change in how.changes if change.after is None]
    lines = [f"  change {change.path}" for change in changed]
    lines += [f"  write {output.plural(len(new), 'new file')}, such as {new[0]}"] if new else []
    lines += [f"  remove {output.plural(len(gone), 'file')}, such as {gone[0]}"] if gone else []
    lines += [f"  run claude {output.fit(shlex.join(step.words), 90)}" for step in how.steps]
    return "\n".join(lines)


def plan_data(*plans: Plan) -> dict[str, Any]:
    changes = [change for how in plans for change in how.changes]
    return {
        "files": [str(change.path) for change in changes if change.after is not None],
        "removed": [str(change.path) for change in changes if change.after is None],
        "commands": [["claude", *step.words] for how in plans for step in how.steps],
    }


def _file(change: Change) -> str:
    if change.before is None:
        lines = (change.after or "").splitlines()
        return f"new file {change.path} ({output.plural(len(lines), 'line')})\n"
    if change.after is None:
        return f"remove {change.path}\n"
    return "".join(
        line if line.endswith("\n") else f"{line}\n"
        for line in difflib.unified_diff(
            change.before.splitlines(keepends=True),
            change.after.splitlines(keepends=True),
            str(change.path),
            str(change.path),
        )
    )


def _uninstall(args: argparse.Namespace) -> int:
    with file_changes.install_lock():
        return _disconnect(client_paths.load_settings_leniently(), args)


def _disconnect(chosen: Settings, args: argparse.Namespace) -> int:
    connected = connections.connections(chosen)
    plans = [connections.undo_plan(each) for each in connected]
    if not connected or args.dry_run:
        text = "".join(map(plan_text, plans)).rstrip("\n") or "Not connected to Claude Code."
        return output.result(plan_data(*plans), text, as_json=args.json)
    output.message("\n".join(plan_summary(how) for how in plans))
    if code := confirm("Disconnect claude-mem from Claude Code?", "This changes its settings", yes=args.yes):
        return code
    with Journal() as journal:
        for each, how in zip(connected, plans, strict=True):
            for said in connections.disconnect(journal, each, how):
                output.message(said)
    data_dirs = dict.fromkeys(each.place.record.parent for each in connected)
    for data_dir in data_dirs:
        try:
            control.stop(data_dir)
        except ClaudeMemError as error:
            output.message(f"The worker was left running: {error}")
    for note in (note for how in plans for note in how.notes):
        output.message(note)
    lines = ["Disconnected from Claude Code; its settings are as they were before."]
    lines += [_kept(data_dir) for data_dir in data_dirs if data_dir.exists()]
    return output.result(plan_data(*plans), "\n".join(lines), as_json=args.json)


def _kept(data_dir: Path) -> str:
    if foreign_database.is_shared(data_dir):
        return f"Your memory stays in {data_dir}, which another program also uses."
    return f"Your memory stays in {data_dir}. To delete it: rm -r {shlex.quote(str(data_dir))}"


def next_steps(chosen: Settings, provider: str, *, client: bool) -> list[str]:
    begin = "start a new session" if client else "install Claude Code and start a session"
    look = "/mem in a session, or claude-mem search"
    if chosen.data_dir != Path.home() / ".claude-mem":
        look += ", with CLAUDE_MEM_DATA_DIR set"
    return [
        f"Next    {begin}: it will be remembered. To import past sessions: claude-mem backfill.",
        f"Data    {output.short_path(chosen.data_dir)}, readable only by you. To search it: {look}.",
        "Pause   claude-mem off, and on again. One session: /mem off in it, or CLAUDE_MEM_OFF=1 before it.",
        f"Model   {_cost(chosen, provider)}",
        "Undo    claude-mem uninstall; your memory stays. To check that it works: claude-mem doctor",
    ]


def _cost(chosen: Settings, provider: str) -> str:
    if provider == "offline":
        return "none: observed offline, for free. To use one, set CLAUDE_MEM_PROVIDER."
    whose = registry.BY_NAME[provider].whose
    limits = [f"{chosen.daily_tokens:,} tokens"] if chosen.daily_tokens else []
    limits += [f"${chosen.daily_usd:.2f}"] if chosen.daily_usd else []
    if not limits:  # 0 is none
        return f"{whose} ({provider}), with no daily limit: you set CLAUDE_MEM_DAILY_TOKENS and _USD to 0."
    return f"{whose} ({provider}): at most {' or '.join(limits)} a day, then offline, which is free."


def add(commands: Commands) -> None:
    install = commands.add(
        "install",
        more=(
            "Installs a plugin with Claude Code's own commands or, with --settings, adds to\n"
            "its settings file. Running it again changes nothing, or updates it. If Claude\n"
            "Code is not installed yet, it will find claude-mem connected when it is."
        ),
        example="claude-mem install --dry-run\nclaude-mem install",
        run=_install,
    )
    install.add_argument(
        "--settings", action="store_true", help="edit the settings file instead of installing a plugin"
    )
    install.add_argument(
        "--scope", choices=SCOPES, default="user", help="for your user, or only for this directory"
    )
    install.add_argument("--statusline", action="store_true", help="also add a segment to the status line")
    install.add_argument("--beside", action="store_true", help="leave another claude-mem enabled")
    more = "Your memory stays in the data directory until you delete it."
    uninstall = commands.add("uninstall", more=more, example="claude-mem uninstall", run=_uninstall)
    for parser in (install, uninstall):
        change_flags(parser, "change")


def _install(args: argparse.Namespace) -> int:
    with file_changes.install_lock():
        return _connect(client_paths.load_settings(), args)


def _connect(chosen: Settings, args: argparse.Namespace) -> int:
    here = client_paths.place_here(chosen, args.scope)
    connected = connections.connections(chosen)
    moved = [each for each in connected if not _is_it(each, here, plugin=not args.settings)]
    undone = [(each, connections.undo_plan(each)) for each in moved]
    left = {path: text for each, how in undone for path, text in connections.texts_after(how, each).items()}

    def read(path: Path) -> str | None:
        return left[path] if path in left else file_changes.read_text(path)

    theirs = _named(settings_file.parsed(read(here.settings) or "", str(here.settings)))
    # Our status line moves with the rest.
    has_line = any(plan.is_status_line(file_changes.read_settings(each.place.settings)) for each in moved)
    wanted = Wanted(not args.settings, bool(theirs) and not args.beside, args.statusline or has_line)
    older = [path for path in connections.plugin_files(here) if path not in left] if wanted.plugin else []
    planned = plan.plan(here, wanted, client_paths.plugin_texts(), __version__, read, older)
    if args.dry_run:
        return _dry_run([*(how for _, how in undone), planned], args)
    if moved or not planned.is_empty:
        for each, how in undone:
            mode = each.made.mode
            output.message(f"Currently connected {mode}; that is removed first:\n{plan_summary(how)}")
        output.message(plan_summary(planned))
        if wanted.take_over:
            output.message(f"  replace another claude-mem ({theirs}); --beside keeps it enabled")
        if code := confirm("Connect claude-mem to Claude Code?", "This changes its settings", yes=args.yes):
            return code
        with Journal() as journal:
            for each, how in undone:
                connections.disconnect(journal, each, how)
            connections.connect(journal, here, planned, by_plugin=wanted.plugin)
    return _report(chosen, here, planned, args)


def _is_it(each: Connection, here: ClientPaths, *, plugin: bool) -> bool:
    """The one that is wanted, perhaps not up to date. One place at a time: two would run every hook twice."""
    is_here = each.place.record == here.record and each.is_recorded
    return is_here and each.made.is_like(client_paths.new_record(here, plugin=plugin))


def _named(settings: dict[str, object]) -> str:
    """Another claude-mem in these settings, in words; "" if there is none."""
    hooks = claude_code_hooks.foreign_hooks(settings)
    plugins = claude_code_hooks.foreign_plugins(settings)
    return ", ".join([*plugins, output.plural(hooks, "hook")] if hooks else plugins)


def _dry_run(plans: list[Plan], args: argparse.Namespace) -> int:
    text = "".join(map(plan_text, plans)).rstrip("\n") or "Already connected; nothing would change."
    return output.result(plan_data(*plans) | {"dry_run": True}, text, as_json=args.json)


def _report(chosen: Settings, here: ClientPaths, planned: Plan, args: argparse.Namespace) -> int:
    from claude_mem import wiring
    from claude_mem.imports.sources import adoptable

    provider = wiring.choice(chosen).provider
    for note in planned.notes:
        output.message(note)
    if theirs := adoptable(chosen):
        output.message(f"Found the memory of another claude-mem: {theirs}. To import it: claude-mem adopt")
    already = " already" if planned.is_empty else ""
    done = f"Connected to Claude Code{already}."
    if here.client is None:
        later = "Claude Code is not installed yet; it will find claude-mem connected when it is."
        done = f"Ready{already}. {later}"
    steps = next_steps(chosen, provider, client=here.client is not None)
    data = {"changed": not planned.is_empty, "client": here.client, "provider": provider}
    text = "\n".join([output.Paint(sys.stdout)("green", done), *steps])
    return output.result(plan_data(planned) | data, text, as_json=args.json)
