"""`claude-mem repair`: fixes problems of an installation that doctor finds, or says what the user must do."""

from __future__ import annotations

import argparse
import json
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from msgspec import Struct, to_builtins

from claude_mem import __version__, settings
from claude_mem.agents import catalog, file_changes
from claude_mem.agents.catalog import Agent
from claude_mem.agents.connection import Connection, InstallOptions
from claude_mem.agents.file_changes import Journal
from claude_mem.cli import doctor, install, output
from claude_mem.cli.commands import OK, WRONG, Commands
from claude_mem.cli.doctor import checks, directory_facts, facts
from claude_mem.files import atomic_file
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.privacy import rules
from claude_mem.serve import control, data_dir
from claude_mem.settings import Settings
from claude_mem.settings.declarations import SETTINGS

DAMAGED = ".damaged"
SOCKETS = (paths.HOOK_SOCK, paths.WORKER_SOCK)


class Fault(Struct, frozen=True):
    """A problem, and either its fix or what the user must do."""

    check: str
    message: str
    remedy: str  # what repair does; or what the user has to do, where `mend` is None
    mend: Callable[[], object] | None = None


class RepairResult(Struct, frozen=True):
    check: str
    says: str
    remedy: str
    state: Literal["fixed", "planned", "manual", "failed"]


def add(commands: Commands) -> None:
    parser = commands.add("repair", run=_run)
    parser.flag("--dry-run", "show what would be fixed, and stop")


def _run(args: argparse.Namespace) -> int:
    """Fixes problems that `claude-mem doctor` reports and that can be fixed automatically: broken hooks, an
    outdated copy of the plugin, a missing MCP server, permissions, leftover sockets, a hung worker, damaged
    settings (a copy is saved). For anything else it says what you need to do, and exits 1. It changes an
    agent's settings only if you connected it with `claude-mem install`.

    Example:
      claude-mem repair --dry-run
      claude-mem repair
    """
    lock = output.waiting("Waiting for another claude-mem install to finish ...")
    with file_changes.install_lock(lock), output.waiting("Repairing ..."):
        outcomes = [_repaired(fault, dry_run=args.dry_run) for fault in faults()]
    left = [] if args.dry_run else [each for each in doctor.judge(facts.gather()) if each.level == "bad"]
    lines = [f"{each.state:<8} {each.check}: {each.says}\n         → {each.remedy}" for each in outcomes]
    lines += [f"not fixed  {each.check}: {each.says}\n         → {each.next}" for each in left]
    is_wrong = bool(left) or any(each.state in ("manual", "failed") for each in outcomes)
    data = {
        "dry_run": args.dry_run,
        "outcomes": to_builtins(outcomes),
        "left": [{"check": each.check, "says": each.says, "next": each.next} for each in left],
    }
    text = "\n".join(lines) or "Nothing to repair."
    return output.result(args, data, text, code=WRONG if is_wrong else OK)


def _repaired(fault: Fault, *, dry_run: bool) -> RepairResult:
    if fault.mend is None:
        return RepairResult(fault.check, fault.message, fault.remedy, "manual")
    if dry_run:
        return RepairResult(fault.check, fault.message, fault.remedy, "planned")
    try:
        fault.mend()
    except (ClaudeMemError, OSError) as error:
        return RepairResult(fault.check, fault.message, str(error), "failed")
    return RepairResult(fault.check, fault.message, fault.remedy, "fixed")


def faults() -> Iterator[Fault]:
    """The faults, in the order in which they must be fixed: each is checked after the previous ones are
    fixed."""
    root = settings.data_directory().absolute()
    yield from _directory(root)
    if root.is_dir():
        yield from _settings(root)
        yield from _record(root)
        yield from _context(root)
    yield from _connections(Settings(data_dir=root))
    if root.is_dir():
        yield from _worker(root)


def _directory(root: Path) -> Iterator[Fault]:
    found = directory_facts.look_at_directory(root)
    if not found.exists or not found.is_directory or found.owner != found.me:
        for finding in checks.judge_directory(found):
            if finding.level == "bad":
                yield Fault("directory", finding.says, finding.next or "")
        return
    if stat.S_IMODE(root.stat().st_mode) & stat.S_IRWXU != stat.S_IRWXU:
        yield Fault("directory", f"{root} is not writable", "give yourself access", lambda: root.chmod(0o700))
        found = directory_facts.look_at_directory(root)
    if found.foreign:
        message = f"files of other users: {', '.join(found.foreign)}"
        yield Fault("directory", message, f"sudo chown -R {found.me} {root}")
    if found.open_count:
        message = f"others can read: {', '.join(found.open_to_others)}"
        yield Fault("directory", message, "make it readable only by you", lambda: _tighten(root))


def _tighten(root: Path) -> None:
    root.chmod(0o700)
    data_dir.tighten_permissions(root)


def _settings(root: Path) -> Iterator[Fault]:
    file = root / paths.SETTINGS
    try:
        content = paths.content(os.fsencode(file), paths.MOST_SETTINGS + 1)
    except FileNotFoundError:
        return
    except OSError as error:
        yield Fault("settings", f"{file}: {error.strerror}", "rename or delete it")
        return
    readable, problem = rules.table(content)
    if problem is None:
        return
    # The rules for an unreadable file stay in effect: no model is called, nothing is deleted.
    safe = {each.key: each.instead for each in SETTINGS if each.instead is not None}

    def mend() -> None:
        with atomic_file(file.with_name(file.name + DAMAGED), durable=True) as copy:
            copy.write(content)
        with atomic_file(file, durable=True) as new:
            new.write(json.dumps(safe | readable, indent=2, ensure_ascii=False).encode() + b"\n")

    remedy = f"save it as {file.name}{DAMAGED}; write a new one with its exclusions and no model"
    yield Fault("settings", f"{file} cannot be used ({problem})", remedy, mend)


def _record(root: Path) -> Iterator[Fault]:
    file = root / paths.INSTALLED
    try:
        is_damaged = file.is_file() and not isinstance(json.loads(file.read_bytes()), dict)
    except ValueError:
        is_damaged = True
    if is_damaged:
        yield Fault(
            "client",
            f"{file}, the record of what an install changed, cannot be read",
            f"rename it to {file.name}{DAMAGED}",
            lambda: file.replace(file.with_name(file.name + DAMAGED)),
        )


def _context(root: Path) -> Iterator[Fault]:
    folder = root / paths.CONTEXT
    if not os.path.lexists(folder) or (folder.is_dir() and os.access(folder, os.R_OK | os.W_OK | os.X_OK)):
        return

    def mend() -> None:
        if folder.is_dir() and not folder.is_symlink():
            folder.chmod(0o700)
        else:
            folder.rename(folder.with_name(folder.name + DAMAGED))

    yield Fault("context", f"{folder} is not a writable folder", "replace it with one", mend)


def _connections(user_settings: Settings) -> Iterator[Fault]:
    known = install.connections(user_settings)
    if not known.found and not known.unreadable:
        yield Fault("client", "no coding agent is connected", "claude-mem install")
    wrong = list(known.unreadable)
    for agent, connection in known.found:
        if catalog.is_outdated(connection):
            yield _reconnected(agent, connection)
        wrong += [(agent, problem) for problem in catalog.problems(connection)]
    for agent, problem in wrong:
        yield Fault("client", f"{agent.title}: {problem}", "change that file, then: claude-mem repair")


def _reconnected(agent: Agent, connection: Connection) -> Fault:
    message = f"connected {connection.how}, but outdated"
    if why := connection.why_left:
        return Fault("client", message, why)

    def mend() -> None:
        options = InstallOptions(connection.installed.scope, connection.installed.plugin, take_over=False)
        prepared = catalog.installer(agent.name).prepare(connection.data_dir, connection.program, options)
        with Journal() as journal:
            prepared.connect(journal)

    return Fault("client", message, "reconnect it, as claude-mem install does", mend)


def _worker(root: Path) -> Iterator[Fault]:
    now = control.status(root)

    def restart() -> None:
        control.stop(root, force=True)
        control.start(root)

    if now.state == "stopped":
        dead = [root / name for name in SOCKETS if os.path.lexists(root / name)]
        if dead:
            names = ", ".join(each.name for each in dead)
            message = f"the worker is not running, but left sockets behind: {names}"
            yield Fault("socket", message, "remove them", lambda: _remove(dead))
    elif now.state == "hung":
        yield Fault("worker", "it is not responding", "restart it", restart)
    elif now.state == "running" and now.version != __version__:
        message = f"it runs version {now.version}; version {__version__} is installed"
        yield Fault("worker", message, "restart it", restart)
    elif now.state == "running" and (problem := facts.hook_socket_problem(root)):
        yield Fault("socket", f"no answer on hook.sock: {problem}", "restart the worker", restart)


def _remove(files: list[Path]) -> None:
    for each in files:
        each.unlink()
