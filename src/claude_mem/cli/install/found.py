"""Finds how Claude Code is connected now: by what was written down, and by what its settings show."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from claude_mem import __version__
from claude_mem.agents.claude_code import hooks, plugin, settings_file
from claude_mem.agents.claude_code.settings_file import Malformed
from claude_mem.cli.install import edge, ours, place, plan, record
from claude_mem.cli.install.place import Place
from claude_mem.cli.install.record import Record
from claude_mem.settings import Settings


@dataclass(frozen=True, slots=True)
class Connection:
    place: Place
    made: Record
    is_recorded: bool


def connections(chosen: Settings) -> list[Connection]:
    """All there are: of this data directory, and what the user's and this directory's settings show, also if
    it records elsewhere or its record is gone. Raises Malformed."""
    recorded = _recorded(chosen)
    found = [recorded] if recorded else []
    for scope in place.SCOPES:
        here = place.find(chosen, scope)
        if any(each.place.folder == here.folder for each in found):
            continue
        try:
            shown = _shown(chosen, here)
        except Malformed:
            if scope == "user":
                raise
            continue  # the client cannot read it either
        found += [shown] if shown else []
    return found


def _shown(chosen: Settings, here: Place) -> Connection | None:
    settings = settings_file.parsed(edge.read(here.settings) or "", str(here.settings))
    servers = settings_file.parsed(edge.read(here.servers) or "", str(here.servers))
    serves = hooks.is_our_server(servers.get("mcpServers", {}).get(hooks.SERVER))
    if not (ours.is_connected(settings) or serves):
        return None
    data_dir = ours.data_dir(_hooked(settings)) or Path.home() / ".claude-mem"
    elsewhere = replace(chosen, data_dir=data_dir)
    recorded = _recorded(elsewhere)
    if recorded and recorded.place.folder == here.folder:
        return recorded
    there = place.find(elsewhere, here.scope)
    return Connection(there, _unrecorded(there, by_plugin=ours.is_plugin(settings)), False)


def _hooked(settings: dict[str, Any]) -> dict[str, Any]:
    """What holds the hooks: the settings themselves, or a file of the plugin that they name."""
    marketplace = ours.marketplace(settings)
    if marketplace is None:
        return settings
    path = marketplace / plugin.ROOT / "hooks/hooks.json"
    return settings_file.parsed(edge.read(path) or "", str(path))


def _unrecorded(there: Place, *, by_plugin: bool) -> Record:
    """What an install must have written down whose record went with the data directory."""
    made = record.new(there, plugin=by_plugin)
    for name, text in place.texts().items():
        path = there.folder / name
        if plan.is_ours(edge.read(path) or "", text):
            folders = [str(each) for each in path.parents if there.folder in each.parents]
            made = replace(made, folders=(*made.folders, *folders))
            made = made.with_file(path, None, plugin.filled(text, there.command, __version__))
    return made


def _recorded(chosen: Settings) -> Connection | None:
    made = record.load(place.find(chosen, "user").record)
    if made is None:
        return None
    return Connection(place.of(chosen, made.scope, made.config, Path(made.folder)), made, True)
