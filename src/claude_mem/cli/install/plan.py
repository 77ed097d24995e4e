"""What an install is to change: the texts of files, and what the client is asked to do itself. Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from claude_mem.agents.claude_code import hooks, plugin, settings_file
from claude_mem.cli.install import ours
from claude_mem.cli.install.place import Place

ALIAS = "commands/mem.md"  # a plugin's own command is only known as /mem:mem
APPROVAL = (
    "Claude Code asks in this project whether to use the MCP server of its .mcp.json; say yes, or the agent "
    "cannot search. Recording and recall need no approval."
)
Read = Callable[[Path], str | None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """How the user wants to be connected."""

    plugin: bool
    take_over: bool  # of another claude-mem
    status_line: bool


@dataclass(frozen=True, slots=True)
class Change:
    """One file: its text before (None: there is none) and after (None: it is to go)."""

    path: Path
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Step:
    """What the client is asked to do, and what would take that back (None: nothing need)."""

    words: tuple[str, ...]  # without the client's name
    undo: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.steps


def plan(
    place: Place,
    wanted: Wanted,
    texts: Mapping[str, str],
    version: str,
    read: Read,
    older: Iterable[Path] = (),
) -> Plan:
    """What is missing between what `read` finds and what is wanted; `older` files that are ours alone go if
    this version has none of the name. Raises Malformed."""
    before = read(place.settings)
    found = settings_file.parsed(before or "", str(place.settings))
    wants, notes = _taken_over(found, wanted), list[str]()
    files: dict[Path, str | None] = dict.fromkeys(older)
    steps: list[Step] = []
    if wanted.plugin:
        made = plugin.marketplace(texts, place.machine, place.command, version)
        files |= {place.marketplace / path: text for path, text in made.items()}
        wants = settings_file.without_hooks(wants, hooks.is_ours)
        if place.client is None:
            wants = ours.declared(wants, place.marketplace)
        else:
            steps += _declaring(place, found)
        own = {ALIAS}
    else:
        wants = settings_file.with_hooks(ours.undeclared(wants), hooks.hooks(place.machine))
        own = {path for path in texts if path.startswith(("commands/", "skills/"))}
        served, asked = _served(place, read)
        files |= served
        steps += asked
        notes += [APPROVAL] if served and place.scope == "project" else []
    for name in sorted(own):
        text = plugin.filled(texts[name], place.command, version)
        there = read(place.folder / name)
        if there is None or is_ours(there, texts[name]):
            files[place.folder / name] = text
        elif there != text:
            notes.append(f"{place.folder / name} is your own and stays as it is.")
    if wanted.status_line or ours.is_status_line(wants):
        wants, said = _with_status_line(wants, place)
        notes += said
    if wants != found:
        files[place.settings] = settings_file.written(wants, before or "")
    changes = [Change(path, read(path), text) for path, text in files.items()]
    return Plan(tuple(each for each in changes if each.before != each.after), tuple(steps), tuple(notes))


def adding(place: Place) -> Step:
    undo = ("plugin", "marketplace", "remove", plugin.MARKETPLACE)
    return Step(("plugin", "marketplace", "add", str(place.marketplace), "--scope", place.scope), undo)


def installing(place: Place) -> Step:
    undo = ("plugin", "uninstall", plugin.ID, "--scope", place.scope)
    return Step(("plugin", "install", plugin.ID, "--scope", place.scope), undo)


def serving(place: Place, entry: Any) -> Step:
    named = ("--scope", place.scope, hooks.SERVER)
    return Step(("mcp", "add-json", *named, json.dumps(entry)), ("mcp", "remove", *named))


def reverse(step: Step) -> Step:
    return Step(step.undo or (), step.words)


def _declaring(place: Place, found: dict[str, Any]) -> list[Step]:
    if ours.declared(found, place.marketplace) == found:
        return []
    steps = [adding(place), installing(place)]
    # Known to the client already, perhaps switched off: then taking it back is not taking it away.
    return [Step(step.words) for step in steps] if ours.is_plugin(found) else steps


def _taken_over(settings: dict[str, Any], wanted: Wanted) -> dict[str, Any]:
    if not wanted.take_over:
        return settings
    for name in hooks.foreign_plugins(settings):
        settings = settings_file.with_entry(settings, "enabledPlugins", name, False)
    return settings_file.without_hooks(settings, hooks.is_foreign_hook)


def _served(place: Place, read: Read) -> tuple[dict[Path, str], list[Step]]:
    """The MCP server: by the client's own command where it owns the file and writes it all the time."""
    before = read(place.servers)
    found = settings_file.parsed(before or "", str(place.servers))
    entry = hooks.server(place.machine)
    there = found.get("mcpServers", {}).get(hooks.SERVER)
    if there == entry:
        return {}, []
    if place.client_serves:
        removing = [reverse(serving(place, there))] if there else []
        return {}, [*removing, serving(place, entry)]
    wants = settings_file.with_entry(found, "mcpServers", hooks.SERVER, entry)
    return {place.servers: settings_file.written(wants, before or "")}, []


def _with_status_line(settings: dict[str, Any], place: Place) -> tuple[dict[str, Any], list[str]]:
    command = f"{place.command} statusline"
    if "statusLine" in settings and not ours.is_status_line(settings):
        return settings, [f"You have a status line already; let it run this to add ours: {command}"]
    line = settings.get("statusLine", {"type": "command"})
    return settings | {"statusLine": line | {"command": command}}, []


def is_ours(there: str, text: str) -> bool:
    """Written by us, perhaps for another place of the command or an older version: it begins alike."""
    return there.splitlines()[:2] == text.splitlines()[:2]
