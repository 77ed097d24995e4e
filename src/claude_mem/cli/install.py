"""`claude-mem install` and `uninstall`: connect claude-mem to coding agents, and disconnect it."""

from __future__ import annotations

import argparse
import difflib
import shlex
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from claude_mem import settings
from claude_mem.agents import CLAUDE_CODE, NOT_RUN, TITLES, catalog, file_changes
from claude_mem.agents.catalog import Agent
from claude_mem.agents.connection import Connection, Installation, InstallOptions
from claude_mem.agents.file_changes import Change, Journal, Plan
from claude_mem.cli import client, observer_choice, output
from claude_mem.cli.commands import OK, WRONG, Commands, change_flags
from claude_mem.cli.output import confirm
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.structs import replace
from claude_mem.settings import Settings, foreign_database

CHANGES = "This changes the settings of your coding agents"


def add(commands: Commands) -> None:
    install = commands.add(
        "install",
        more=(
            "Connects every coding agent that it finds, or those that you name: "
            f"{', '.join(name for name in TITLES if name not in NOT_RUN)}. "
            "These were not tested with claude-mem. It connects them only if you name them: "
            f"{', '.join(NOT_RUN)}.\n\n"
            "For Claude Code, it installs a plugin with Claude Code's own commands or, with --settings, "
            "edits its settings file. For the others, it edits their settings. Running it again changes "
            "nothing, or updates the connection. If no agent is installed yet, it prepares the connection "
            "to Claude Code.\n\n"
            "It asks once which observer turns events into memories, and saves the answer as "
            "CLAUDE_MEM_PROVIDER. With --yes and without --observer, it is your own Claude Code if that is "
            "logged in, otherwise offline."
        ),
        example=(
            "claude-mem install --dry-run\n"
            "claude-mem install --agent codex --agent gemini\n"
            "claude-mem install --yes --observer offline"
        ),
        run=_install,
    )
    scopes, where = catalog.load(CLAUDE_CODE).scopes, "for your user, or only for this directory"
    install.flag("--settings", "edit Claude Code's settings instead of installing a plugin")
    install.add_argument("--scope", choices=scopes, default="user", help=where)
    install.flag("--statusline", "also add a segment to the status line")
    install.flag("--beside", "leave another claude-mem enabled")
    observer = "what turns events into memories; without it you are asked once"
    install.add_argument("--observer", choices=observer_choice.NAMES, help=observer)
    uninstall = commands.add("uninstall", run=_uninstall)
    which = "only this agent; may be repeated"
    for parser in (install, uninstall):
        parser.argument("--agent", "NAME", which, action="append", type=_agent_name, choices=tuple(TITLES))
        change_flags(parser, "change")


def _agent_name(typed: str) -> str:
    """In any case, and by the names that people have for an agent."""
    name = typed.lower().replace(" ", "-").replace("_", "-")
    by_title = {title.lower().replace(" ", "-"): own for own, title in TITLES.items()}
    short = {"claude": CLAUDE_CODE} | {f"{own}-cli": own for own in TITLES}
    return short.get(name) or by_title.get(name) or name


def connections(user_settings: Settings) -> catalog.Connections:
    return catalog.connections(user_settings.data_dir, lambda agent: _program(user_settings, agent))


def is_connected(user_settings: Settings) -> bool:
    """What cannot be read is for `doctor` to report."""
    known = connections(user_settings)
    return bool(known.found or known.unreadable)


def _program(user_settings: Settings, agent: Agent) -> str | None:
    return getattr(user_settings, agent.program_setting) if agent.program_setting else None


def _lock() -> Any:
    return file_changes.install_lock(output.waiting("Waiting for another claude-mem install to finish ..."))


class LeftOut:
    """The agents whose files cannot be read or changed: they are skipped, and the others are not affected."""

    def __init__(self) -> None:
        self.errors: dict[str, tuple[Agent, ClaudeMemError | OSError]] = {}

    @contextmanager
    def unless_it_works(self, agent: Agent) -> Iterator[None]:
        try:
            yield
        except (ClaudeMemError, OSError) as error:
            self.errors[agent.name] = agent, error

    def report(self, *, is_all: bool) -> None:
        """Reports the skipped agents; raises the error if no agent is left."""
        errors = self.errors.values()
        if is_all and len(errors) == 1:
            raise next(error for _, error in errors)
        text = "\n".join(f"{agent.title} was skipped: {catalog.in_words(error)}" for agent, error in errors)
        if is_all and text:
            raise ClaudeMemError(text)
        if text:
            output.message(text)

    def code(self, named: list[str] | None) -> int:
        """The exit code: 1 if an agent that the user named was skipped."""
        return WRONG if any(name in self.errors for name in named or ()) else OK


class InstallTarget(Struct, frozen=True):
    """An agent, and what connecting it would do."""

    agent: Agent
    prepared: Installation

    @property
    def plans(self) -> list[Plan]:
        return [*(undo for _, undo in self.prepared.old), self.prepared.plan]

    @property
    def connects(self) -> bool:
        return bool(self.prepared.old) or not self.prepared.plan.is_empty


def chosen_agents(args: argparse.Namespace) -> list[Agent]:
    """Those that were named; or those that are here, and fit the options."""
    if args.agent:
        named = [catalog.load(name) for name in dict.fromkeys(args.agent)]
        for agent in named:
            if args.scope not in agent.scopes:
                raise ClaudeMemError(f"{agent.title} can only be connected for your user: --scope user.")
        return named
    found = [agent for agent in map(catalog.load, TITLES) if agent.is_run and agent.is_there()]
    fitting = [agent for agent in found if args.scope in agent.scopes]
    return fitting or [catalog.load(CLAUDE_CODE)]


def _install(args: argparse.Namespace) -> int:
    from claude_mem.wiring import database

    agents = chosen_agents(args)
    if (args.statusline or args.settings) and CLAUDE_CODE not in [agent.name for agent in agents]:
        output.message("--settings and --statusline are only for Claude Code: they change nothing here.")
    with _lock():
        data_dir = settings.data_directory().absolute()
        if problem := database.foreign(Settings(data_dir=data_dir)):
            raise ClaudeMemError(
                f"{problem}\nIt was not changed. Use a separate directory:\n"
                "  export CLAUDE_MEM_DATA_DIR=~/.claude-mem-py\n  claude-mem install"
            )
        user_settings = replace(client.load_settings(), data_dir=data_dir)
        is_interactive = sys.stdin.isatty() and not (args.yes or args.dry_run)
        user_settings, choice = observer_choice.change(
            user_settings,
            args.observer,
            observer_choice.terminal_prompt(user_settings) if is_interactive else None,
        )
        # An install does not remove the user's own settings file.
        new = ((choice.path, choice.after or ""),) if choice and choice.before is None else ()
        settings_plan = Plan((choice,)) if choice and not new else Plan()
        targets, left_out = [], LeftOut()
        for agent in agents:
            options = InstallOptions(args.scope, not args.settings, not args.beside, args.statusline, new)
            with left_out.unless_it_works(agent):
                prepared = catalog.installer(agent.name).prepare(
                    data_dir, _program(user_settings, agent), options
                )
                targets.append(InstallTarget(agent, prepared))
                new = ()  # in one record is enough
        left_out.report(is_all=not targets)
        plans = [*(plan for target in targets for plan in target.plans), settings_plan]
        if args.dry_run:
            text = _text(plans) or "Already connected; nothing would change."
            data = _data(plans) | {"dry_run": True, "left_out": list(left_out.errors)}
            return output.result(args, data, text, code=left_out.code(args.agent))
        connecting = [target for target in targets if target.connects]
        if connecting or not settings_plan.is_empty:
            _announce(connecting, settings_plan)
            titles = _titles(target.agent for target in connecting or targets)
            if code := confirm(f"Connect claude-mem to {titles}?", CHANGES, yes=args.yes):
                return code
            with output.waiting(f"Waiting for {titles} ..."), Journal() as journal:
                refused = LeftOut()
                for target in connecting:
                    with refused.unless_it_works(target.agent), journal.part():
                        target.prepared.connect(journal)
                targets = [target for target in targets if target.agent.name not in refused.errors]
                refused.report(is_all=not targets)
                for change in settings_plan.changes:
                    journal.apply(change, ())
            left_out.errors.update(refused.errors)
            _leave_empty_directories(targets, connections(user_settings))
    if client.approve_environment(data_dir) or choice is not None:
        _stop(data_dir)  # the next hook starts it again, with the observer that was chosen
    return _report(user_settings, targets, left_out, args)


def _leave_empty_directories(targets: list[InstallTarget], known: catalog.Connections) -> None:
    """Removes data directories in which nothing was recorded and which no agent uses anymore."""
    former = {each.data_dir for target in targets for each, _ in target.prepared.old}
    for data_dir in former - {each.data_dir for _, each in known.found}:
        if not file_changes.has_events(data_dir):
            _stop(data_dir)
            _remove_approvals(data_dir)


def _announce(connecting: list[InstallTarget], settings_plan: Plan) -> None:
    for target in connecting:
        if len(connecting) > 1:
            output.message(f"{target.agent.title}:")
        for each, undo in target.prepared.old:
            output.message(f"Currently connected {each.how}; that is removed first:\n{_summary(undo)}")
        output.message(_summary(target.prepared.plan))
        if target.prepared.replaces:
            other = f"another claude-mem ({target.prepared.replaces})"
            output.message(f"  replace {other}; --beside keeps it enabled")
    if not settings_plan.is_empty:
        output.message(_summary(settings_plan))


def _titles(agents: Iterable[Agent]) -> str:
    """`Codex, Gemini CLI and Cline`."""
    *most, last = dict.fromkeys(agent.title for agent in agents)
    return f"{', '.join(most)} and {last}" if most else last


def _report(
    user_settings: Settings, targets: list[InstallTarget], left_out: LeftOut, args: argparse.Namespace
) -> int:
    from claude_mem.imports.sources import adoptable
    from claude_mem.wiring import observer_setup

    planned, observer = [target.prepared.plan for target in targets], observer_setup.choice(user_settings)
    for note in (note for plan in planned for note in plan.notes):
        output.message(note)
    if other_memory := adoptable(user_settings):
        output.message(
            f"Found the memory of another claude-mem: {other_memory}. To import it: claude-mem adopt"
        )
    if observer.problem:
        output.message(f"Events are recorded, but cannot become memories yet: {observer.problem}")
    is_new = any(target.connects for target in targets)
    already = "" if is_new else " already"
    absent = [target.agent for target in targets if target.prepared.client is None]
    present = [target.agent for target in targets if target.agent not in absent]
    done = f"Connected to {_titles(present)}{already}." if present else f"Ready{already}."
    if absent:
        it, are = ("it", "is") if len(absent) == 1 else ("they", "are")
        done += f" {_titles(absent)} {are} not installed yet;"
        done += f" {it} will be connected when {it} {are}."
    needs = [target.agent.needs for target in targets if target.agent.needs and target.connects]
    slash = any(target.agent.name == CLAUDE_CODE for target in targets)
    missing = absent[0].title if len(absent) == len(targets) else ""
    steps = [*needs, *next_steps(user_settings, observer.provider, missing=missing, slash=slash)]
    data = {
        "changed": not all(plan.is_empty for plan in planned),
        "agents": [target.agent.name for target in targets],
        "client": targets[0].prepared.client,
        "provider": observer.provider,
        "needs": needs,
        "left_out": list(left_out.errors),
        "warnings": [note for plan in planned for note in plan.notes],
    }
    text = "\n".join([output.Paint(sys.stdout)("green", done), *steps])
    return output.result(args, _data(planned) | data, text, code=left_out.code(args.agent))


def next_steps(user_settings: Settings, provider: str, *, missing: str = "", slash: bool = True) -> list[str]:
    """`missing`: the agent, if it is not installed yet. `slash`: there is one that has /mem."""
    begin = f"install {missing} and start a session" if missing else "start a new session"
    look = "/mem in a Claude Code session, or claude-mem search" if slash else "claude-mem search"
    pause = "/mem off in Claude Code, or CLAUDE_MEM_OFF=1" if slash else "CLAUDE_MEM_OFF=1"
    if user_settings.data_dir != Path.home() / ".claude-mem":
        look += ", with CLAUDE_MEM_DATA_DIR set"
    return [
        f"Next    {begin}. To import past sessions: claude-mem backfill",
        f"Data    {output.short_path(user_settings.data_dir)}, readable only by you. To search it: {look}.",
        f"Pause   claude-mem off; to resume: claude-mem on. For one session: {pause}",
        f"Model   {observer_choice.cost(user_settings, provider)}",
        "Undo    claude-mem uninstall; your memory stays. To check that it works: claude-mem doctor",
    ]


def _uninstall(args: argparse.Namespace) -> int:
    """Your memory stays in the data directory until you delete it."""
    with _lock():
        # Ignore errors in the data directory: uninstalling must always be possible.
        user_settings = replace(settings.load(), data_dir=settings.data_directory().absolute())
        known, left_out = connections(user_settings), LeftOut()
        for agent, why in known.unreadable:
            left_out.errors[agent.name] = agent, ClaudeMemError(why)
        found: list[tuple[Agent, Connection]] = []
        plans: list[Plan] = []
        for agent, connection in known.found:
            if not args.agent or agent.name in args.agent:
                with left_out.unless_it_works(agent):
                    plans.append(connection.undo_plan())
                    found.append((agent, connection))
        if args.agent:
            left_out.errors = {name: left_out.errors[name] for name in args.agent if name in left_out.errors}
        left_out.report(is_all=not found)
        code = WRONG if left_out.errors else OK
        if not found or args.dry_run:
            which = _titles(map(catalog.load, args.agent)) if args.agent else "any agent"
            text = _text(plans) or f"Not connected to {which}."
            return output.result(args, _data(plans), text, code=code)
        agents = _titles(agent for agent, _ in found)
        output.message("\n".join(map(_summary, plans)))
        if refused := confirm(f"Disconnect claude-mem from {agents}?", CHANGES, yes=args.yes):
            return refused
        with output.waiting(f"Waiting for {agents} ..."), Journal() as journal:
            for (_, connection), how in zip(found, plans, strict=True):
                for refusal in connection.disconnect(journal, how):
                    output.message(refusal)
        left = {each.data_dir for agent, each in known.found if (agent, each) not in found}
        data_dirs = dict.fromkeys(each.data_dir for _, each in found if each.data_dir not in left)
        its = "their" if " and " in agents else "its"
        restored = f"{its} settings were restored"
        if not all(how.is_exact for how in plans):
            restored = f"claude-mem was removed from {its} settings, which had changed since the install"
        lines = [f"Disconnected from {agents}; {restored}."]
        lines += [line for data_dir in data_dirs if (line := _stopped(data_dir))]
        for note in (note for how in plans for note in how.notes):
            output.message(note)
        return output.result(args, _data(plans), "\n".join(lines), code=code)


def _remove_approvals(data_dir: Path) -> None:
    """Removes the approvals that an install saved, if nothing was recorded."""
    for name in (paths.ENVIRONMENT, paths.APPROVED):
        (data_dir / name).unlink(missing_ok=True)
    with suppress(OSError):
        data_dir.rmdir()  # if it is empty


def _stopped(data_dir: Path) -> str | None:
    """Stop the worker of a data directory, and say what becomes of the memory in it."""
    _stop(data_dir)
    if not file_changes.has_events(data_dir):
        _remove_approvals(data_dir)
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
    removed = [change.path for change in how.changes if change.after is None]
    lines = [f"  change {change.path}" for change in changed]
    for verb, what, files in (("write", "new file", new), ("remove", "file", removed)):
        if len(files) == 1:
            lines.append(f"  {verb} {files[0]}")
        elif files:
            lines.append(f"  {verb} {output.plural(len(files), what)}, such as {files[0]}")
    lines += [f"  run {output.fit(shlex.join(step.words), 97)}" for step in how.steps]
    return "\n".join(lines)


def _data(plans: list[Plan]) -> dict[str, Any]:
    changes = [change for how in plans for change in how.changes]
    return {
        "files": [str(change.path) for change in changes if change.after is not None],
        "removed": [str(change.path) for change in changes if change.after is None],
        "commands": [list(step.words) for how in plans for step in how.steps],
    }
