"""What an install is to change: the texts of files, and what the client is asked to do itself. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claude_mem.cli.install.place import Place
from claude_mem.clients.claude_code import connection, others, plugin, settings_file

ALIAS = "commands/mem.md"  # a plugin's own command is only known as /claude-mem:mem
Read = Callable[[Path], str | None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """How the user wants to be connected."""

    plugin: bool
    take_over: bool  # of another claude-mem
    status_line: bool


@dataclass(frozen=True, slots=True)
class Change:
    """One file: its text before (None: there is none) and after."""

    path: Path
    before: str | None
    after: str


@dataclass(frozen=True, slots=True)
class Plan:
    changes: tuple[Change, ...]
    commands: tuple[tuple[str, ...], ...]  # of the client, without its name
    notes: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.commands


def plan(place: Place, wanted: Wanted, texts: Mapping[str, str], version: str, read: Read) -> Plan:
    """What is missing between what `read` finds and what is wanted. Raises Malformed."""
    before = read(place.settings)
    found = settings_file.parsed(before or "", str(place.settings))
    wants, notes = _taken_over(found, wanted), []
    files: dict[Path, str] = {}
    commands: list[tuple[str, ...]] = []
    if wanted.plugin:
        made = plugin.marketplace(texts, place.machine, place.command, version)
        files |= {place.marketplace / path: text for path, text in made.items()}
        wants = settings_file.without_hooks(wants, connection.is_ours)
        if place.client is None:
            wants = declared(wants, place)
        elif declared(found, place) != found:
            commands += [
                ("plugin", "marketplace", "add", str(place.marketplace), "--scope", place.scope),
                ("plugin", "install", plugin.ID, "--scope", place.scope),
            ]
        own = {ALIAS}
    else:
        wants = settings_file.with_hooks(_undeclared(wants), connection.hooks(place.machine))
        own = {path for path in texts if path.startswith(("commands/", "skills/"))}
        served, asked = _served(place, read)
        files |= served
        commands += asked
    for name in sorted(own):
        text = plugin.filled(texts[name], place.command, version)
        there = read(place.folder / name)
        if there is None or _is_ours(there, name, texts):
            files[place.folder / name] = text
        elif there != text:
            notes.append(f"{place.folder / name} is your own and stays as it is.")
    if wanted.status_line:
        wants, said = _with_status_line(wants, place)
        notes += said
    if wants != found:
        files[place.settings] = settings_file.written(wants, before or "")
    changes = [Change(path, read(path), text) for path, text in files.items()]
    return Plan(
        tuple(change for change in changes if change.before != change.after), tuple(commands), tuple(notes)
    )


def declared(settings: dict[str, Any], place: Place) -> dict[str, Any]:
    """As the client itself writes it down when it is asked to install the plugin."""
    source = {"source": {"source": "directory", "path": str(place.marketplace)}}
    known = settings_file.with_entry(settings, "extraKnownMarketplaces", plugin.MARKETPLACE, source)
    return settings_file.with_entry(known, "enabledPlugins", plugin.ID, True)


def is_declared(settings: dict[str, Any]) -> bool:
    """The plugin is known to the client, wherever it lies."""
    return plugin.MARKETPLACE in settings.get("extraKnownMarketplaces", {})


def _undeclared(settings: dict[str, Any]) -> dict[str, Any]:
    without = settings_file.without_entry(settings, "enabledPlugins", plugin.ID)
    return settings_file.without_entry(without, "extraKnownMarketplaces", plugin.MARKETPLACE)


def restored(now: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Settings that changed since the install: without what is ours, and with what was taken over."""
    left = _undeclared(settings_file.without_hooks(now, connection.is_ours))
    if is_our_status_line(left):
        left = {key: value for key, value in left.items() if key != "statusLine"}
    for name in others.plugins(before):
        if name in left.get("enabledPlugins", {}):
            left = settings_file.with_entry(left, "enabledPlugins", name, True)
    if not others.hooks(before) or others.hooks(left):
        return left
    hooks = dict(left.get("hooks", {}))
    for event, groups in before["hooks"].items():
        theirs = [
            group | {"hooks": kept}
            for group in groups
            if (kept := [hook for hook in group.get("hooks", []) if others.is_anothers(hook)])
        ]
        hooks |= {event: [*hooks.get(event, []), *theirs]} if theirs else {}
    return left | {"hooks": hooks}


def _taken_over(settings: dict[str, Any], wanted: Wanted) -> dict[str, Any]:
    if not wanted.take_over:
        return settings
    for name in others.plugins(settings):
        settings = settings_file.with_entry(settings, "enabledPlugins", name, False)
    return settings_file.without_hooks(settings, others.is_anothers)


def _served(place: Place, read: Read) -> tuple[dict[Path, str], list[tuple[str, ...]]]:
    """The MCP server: by the client's own command where it owns the file and writes it all the time."""
    before = read(place.servers)
    found = settings_file.parsed(before or "", str(place.servers))
    entry = connection.server(place.machine)
    there = found.get("mcpServers", {}).get(connection.SERVER)
    if there == entry:
        return {}, []
    if place.scope == "user" and place.client:
        named = ("--scope", place.scope, connection.SERVER)
        removed = [("mcp", "remove", *named)] if there else []
        return {}, [*removed, ("mcp", "add-json", *named, json.dumps(entry))]
    wants = settings_file.with_entry(found, "mcpServers", connection.SERVER, entry)
    return {place.servers: settings_file.written(wants, before or "")}, []


def _with_status_line(settings: dict[str, Any], place: Place) -> tuple[dict[str, Any], list[str]]:
    command = f"{place.command} statusline"
    if "statusLine" in settings and not is_our_status_line(settings):
        return settings, [f"You have a status line already; let it run this to add ours: {command}"]
    return settings | {"statusLine": {"type": "command", "command": command}}, []


def is_our_status_line(settings: dict[str, Any]) -> bool:
    line = settings.get("statusLine")
    command = line.get("command") if isinstance(line, dict) else None
    return isinstance(command, str) and command.endswith(("claude-mem statusline", "claude_mem statusline"))


def _is_ours(text: str, name: str, texts: Mapping[str, str]) -> bool:
    """Written by us, perhaps for another place of the command or an older version: it begins alike."""
    return text.splitlines()[:2] == texts[name].splitlines()[:2]
