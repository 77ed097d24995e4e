"""Connects claude-mem to Claude Code and disconnects it: an `Installer`, as `agents.catalog` declares it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from claude_mem.agents import launcher, settings_file
from claude_mem.agents.claude_code import agent, install_plan, registration
from claude_mem.agents.claude_code.agent import InstallPaths
from claude_mem.agents.connection import Connection, Installation, InstallOptions, record_install, restored
from claude_mem.agents.file_changes import (
    Change,
    InstallRecord,
    Journal,
    Plan,
    Step,
    WithoutUs,
    load_record,
    read_text,
)
from claude_mem.agents.settings_file import Malformed
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.structs import replace


@dataclass(frozen=True)
class ClaudeCodeConnection(Connection):
    place: InstallPaths
    repository: str | None = None  # the plugin is its own, not made by an install

    @property
    def how(self) -> str:
        origin = f" from {self.repository}" if self.repository else ""
        return f"{'as a plugin' if self.installed.plugin else 'by settings'}{origin} ({self.installed.scope})"

    @property
    def why_left(self) -> str | None:
        if self.installed.scope == "project" and self.place.folder != Path.cwd() / ".claude":
            return f"in {self.place.folder.parent}: claude-mem repair"
        if read_settings(self.place.settings).get("enabledPlugins", {}).get(registration.PLUGIN_ID) is False:
            return (
                f"it is disabled in Claude Code. To enable it: claude plugin enable {registration.PLUGIN_ID}"
            )
        return None

    @property
    def is_current(self) -> bool:
        if self.repository:  # its hooks say so at a session's start if it is of another version
            return True
        scope, plugin = self.installed.scope, self.installed.plugin
        options = InstallOptions(scope, plugin, take_over=False, status_line=False)
        return install_plan.plan(self.place, options, read_text).is_empty

    @property
    def folders(self) -> Sequence[str]:
        place = self.place
        of_plugin = {folder for file in _plugin_files(place) for folder in file.parents}
        own = (str(each) for each in of_plugin if each.is_relative_to(place.marketplace))
        return (*self.installed.folders, *own)

    def without_us(self) -> Mapping[Path, WithoutUs]:
        place = self.place
        # The MCP server's entry goes too, unless the client itself removes it.
        is_served = not place.client_owns_servers and launcher.is_our_server(_server(place))
        return {
            place.settings: _without_us(place, self.installed),
            place.servers: self.without_our_server if is_served else lambda now: now,
            **dict.fromkeys(_plugin_files(place), lambda _: None),
        }

    def undo_steps(self) -> tuple[Step, ...]:
        place = self.place
        if place.client is None:
            return ()
        found, server = read_settings(place.settings), _server(place)
        steps = []
        if registration.PLUGIN_ID in found.get("enabledPlugins", {}):
            steps.append(install_plan.reverse(install_plan.installing(place)))
        if registration.MARKETPLACE in found.get("extraKnownMarketplaces", {}):
            steps.append(install_plan.reverse(install_plan.adding(place)))
        if place.client_owns_servers and launcher.is_our_server(server):
            steps.append(install_plan.reverse(install_plan.serving(place, server)))
            steps += [install_plan.serving(place, self.installed.server)] if self.installed.server else []
        return tuple(steps)

    def without_our_server(self, now: str) -> str | None:
        """The text of the servers' file without ours."""
        path = self.place.servers
        saved = self.installed.files.get(str(path))
        if saved and saved.after == now:
            return saved.before
        before = settings_file.parsed((saved and saved.before) or "", str(path))
        found = settings_file.parsed(now, str(path))
        previous = before.get("mcpServers", {}).get(launcher.SERVER) or self.installed.server
        if previous:
            updated = settings_file.with_entry(found, "mcpServers", launcher.SERVER, previous)
        else:
            updated = settings_file.without_entry(found, "mcpServers", launcher.SERVER)
        return settings_file.written(updated, now)

    def disconnect(self, journal: Journal, plan: Plan) -> list[str]:
        place = self.place
        printed = [(step, journal.run(place.run, step, place.settings)) for step in plan.steps]
        super().disconnect(journal, plan)
        return [_refusal(step, text) for step, text in printed if text]


def connections(data_dir: Path, program: str | None) -> list[ClaudeCodeConnection]:
    """The connections of this data directory, and those in the user's and this directory's settings, even if
    they record elsewhere or their record is gone. Raises Malformed."""
    recorded = _recorded(data_dir, program)
    found = [recorded] if recorded else []
    for scope in agent.SCOPES:
        try:
            here = agent.locate(data_dir, program, scope)
        except FileNotFoundError:
            continue  # the working directory is gone, and its settings with it
        if any(each.place.folder == here.folder for each in found):
            continue
        if not _may_be_in(here):
            continue
        try:
            shown = _in_settings(here)
        except Malformed:
            if scope == "user":
                raise
            continue  # the client cannot read it either
        found += [shown] if shown else []
    return found


def _recorded(data_dir: Path, program: str | None) -> ClaudeCodeConnection | None:
    here = agent.locate(data_dir, program, "user")
    if (installed := load_record(here.record)) is None:
        return None
    there = replace(here, scope=installed.scope, folder=Path(installed.folder), config=installed.config)
    return ClaudeCodeConnection(data_dir, program, there.record, installed, True, there)


def _may_be_in(here: InstallPaths) -> bool:
    """Whether a file may name us. A file that does not need not be readable."""
    texts = [path.read_bytes() for path in (here.settings, here.servers) if path.is_file()]
    return any(name in text for text in texts for name in (b"claude-mem", b"claude_mem"))


def _in_settings(here: InstallPaths) -> ClaudeCodeConnection | None:
    settings = read_settings(here.settings)
    if not install_plan.is_connected(settings) and not launcher.is_our_server(_server(here)):
        return None
    # What holds the hooks: the settings themselves, or a file of the plugin that they name.
    plugin = install_plan.marketplace_of(settings)
    hooked = read_settings(plugin / registration.PLUGIN_ROOT / "hooks/hooks.json") if plugin else settings
    data_dir = install_plan.data_dir_of(hooked) or Path.home() / ".claude-mem"
    recorded, repository = _recorded(data_dir, here.program), install_plan.repository_of(settings)
    if recorded and recorded.place.folder == here.folder:
        return recorded
    there = replace(here, data_dir=data_dir)
    installed = agent.new_record(there, plugin=install_plan.is_plugin(settings))
    for name, text in agent.plugin_texts().items():  # what the lost record must have held
        path = there.folder / name
        if install_plan.is_our_text(read_text(path) or "", text):
            folders = [str(each) for each in path.parents if there.folder in each.parents]
            installed = replace(installed, folders=(*installed.folders, *folders))
            installed = installed.with_change(Change(path, None, registration.fill_in(text, there.command)))
    return ClaudeCodeConnection(data_dir, here.program, there.record, installed, False, there, repository)


def prepare(data_dir: Path, program: str | None, options: InstallOptions) -> Installation:
    """Plans an install. There is one connection at a time, because two would run every hook twice. Raises
    Malformed."""
    here = agent.locate(data_dir, program, options.scope)
    new = agent.new_record(here, plugin=options.plugin)
    old: list[tuple[ClaudeCodeConnection, Plan]] = []
    left: dict[Path, str | None] = {}
    for each in connections(data_dir, program):
        record = each.installed
        same = (record.plugin, record.scope, record.folder) == (new.plugin, new.scope, new.folder)
        if same and each.is_recorded and each.data_dir == data_dir:
            continue
        undo = each.undo_plan()
        old.append((each, undo))
        left |= {change.path: change.after for change in undo.changes}
        if undo.steps and each.place.client_owns_servers and (now := read_text(each.place.servers)):
            left[each.place.servers] = each.without_our_server(now)

    def read(path: Path) -> str | None:
        return left[path] if path in left else read_text(path)

    foreign = registration.foreign(settings_file.parsed(read(here.settings) or "", str(here.settings)))
    has_line = any(install_plan.is_status_line(read_settings(each.place.settings)) for each, _ in old)
    options = replace(
        options, take_over=options.take_over and bool(foreign), status_line=options.status_line or has_line
    )
    older = [path for path in _plugin_files(here) if path not in left] if options.plugin else []
    plan = install_plan.plan(here, options, read, older)

    def connect(journal: Journal) -> None:
        for each, undo in old:
            each.disconnect(journal, undo)
        _connect(journal, here, plan, by_plugin=options.plugin)

    return Installation(old, plan, foreign if options.take_over else "", here.client, connect)


def _connect(journal: Journal, place: InstallPaths, plan: Plan, *, by_plugin: bool) -> None:
    installed = load_record(place.record) or agent.new_record(place, plugin=by_plugin)
    now, server = read_text(place.settings), _server(place)
    if place.client_owns_servers and server is not None and not launcher.is_our_server(server):
        installed = replace(installed, server=server)
    # The settings too if only the client changes them.
    changes = [Change(place.settings, now, now), *plan.changes]
    restorers = {place.settings: _without_us(place, installed)}
    installed = record_install(journal, place.record, installed, changes, restorers)
    for change in plan.changes:
        journal.apply(change, [str(change.path.parent)])
    for step in plan.steps:
        if printed := journal.run(place.run, step, place.settings):
            hint = " To install without a plugin: claude-mem install --settings" if by_plugin else ""
            raise ClaudeMemError(f"{_refusal(step, printed)}\nNothing was changed.{hint}")
    by_client = replace(installed.files[str(place.settings)], after=read_text(place.settings))
    installed = replace(installed, files={**installed.files, str(place.settings): by_client})
    journal.write(place.record, installed.as_text())


def _without_us(place: InstallPaths, installed: InstallRecord) -> WithoutUs:
    """Of the settings."""
    path, saved = str(place.settings), installed.files.get(str(place.settings))

    def without_us(now: str) -> str | None:
        found = settings_file.parsed(now, path)
        before = settings_file.parsed(saved.before or "", path) if saved else None
        updated = install_plan.restored(found, before)
        if saved and updated == before:
            return saved.before
        return now if updated == found else settings_file.written(updated, now)

    return partial(restored, without_us, saved)


def read_settings(path: Path) -> dict[str, Any]:
    return settings_file.parsed(read_text(path) or "", str(path))


def _server(place: InstallPaths) -> Any:
    return read_settings(place.servers).get("mcpServers", {}).get(launcher.SERVER)


def _refusal(step: Step, printed: str) -> str:
    return f"Claude Code rejected `{' '.join(step.words[:4])}`: {printed}"


def _plugin_files(place: InstallPaths) -> list[Path]:
    """The files of the plugin that was generated for this machine, of whatever version."""
    manifest = place.marketplace / ".claude-plugin/marketplace.json"
    if f'"{registration.MARKETPLACE}"' not in (read_text(manifest) or ""):
        return []
    folder = place.marketplace / registration.PLUGIN_ROOT
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [manifest, *sorted(files)]
