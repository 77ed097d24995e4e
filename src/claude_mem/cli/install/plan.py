"""What an install changes: the texts of files, and what the client is asked to do itself. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from claude_mem.agents import launcher
from claude_mem.agents.claude_code import hooks, settings_file
from claude_mem.cli.install.client_paths import ClientPaths


def declared(settings: dict[str, Any], marketplace: Path) -> dict[str, Any]:
    """As the client itself writes it down when it is asked to install the plugin."""
    source = {"source": {"source": "directory", "path": str(marketplace)}}
    known = settings_file.with_entry(settings, "extraKnownMarketplaces", hooks.MARKETPLACE, source)
    return settings_file.with_entry(known, "enabledPlugins", hooks.PLUGIN_ID, True)


def undeclared(settings: dict[str, Any]) -> dict[str, Any]:
    without = settings_file.without_entry(settings, "enabledPlugins", hooks.PLUGIN_ID)
    return settings_file.without_entry(without, "extraKnownMarketplaces", hooks.MARKETPLACE)


def is_plugin(settings: dict[str, Any]) -> bool:
    """The plugin is known to the client, wherever it lies, switched on or off."""
    return undeclared(settings) is not settings


def is_connected(settings: dict[str, Any]) -> bool:
    return is_plugin(settings) or any(launcher.is_ours(hook) for hook in _hooks(settings))


def marketplace(settings: dict[str, Any]) -> Path | None:
    """Where the plugin lies that these settings name."""
    known = settings.get("extraKnownMarketplaces", {}).get(hooks.MARKETPLACE)
    source = known.get("source") if isinstance(known, dict) else None
    path = source.get("path") if isinstance(source, dict) else None
    return Path(path) if isinstance(path, str) else None


def data_dir(settings: dict[str, Any]) -> Path | None:
    """Where the hooks in these settings (or in a plugin's hooks.json) record; None: the default."""
    named = (launcher.data_dir_of(hook) for hook in _hooks(settings) if launcher.is_ours(hook))
    return next((Path(name) for name in named if name), None)


def restored(now: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    """Without what is ours, and with what was taken over; `before` the install (None: nobody knows)."""
    left = undeclared(settings_file.without_hooks(now, launcher.is_ours))
    if is_status_line(left):
        left = {key: value for key, value in left.items() if key != "statusLine"}
        left |= {"statusLine": before["statusLine"]} if before and "statusLine" in before else {}
    if before is None:
        return left
    return _with_empty(_given_back(left, before), before)


def is_status_line(settings: dict[str, Any]) -> bool:
    """Ours alone: one that runs ours among other things is the user's."""
    line = settings.get("statusLine")
    command = line.get("command") if isinstance(line, dict) else None
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return False
    if words[:1] == ["env"] and len(words) > 2 and words[1].startswith("CLAUDE_MEM_DATA_DIR="):
        words = words[2:]
    by_module = words[1:] == ["-m", "claude_mem", "statusline"]
    return by_module or (len(words) == 2 and Path(words[0]).name == "claude-mem" and words[1] == "statusline")


def _given_back(left: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Another claude-mem is switched on again, unless somebody removed or mended it in the meantime."""
    for name in hooks.foreign_plugins(before):
        if name in left.get("enabledPlugins", {}):
            left = settings_file.with_entry(left, "enabledPlugins", name, before["enabledPlugins"][name])
    if not hooks.foreign_hooks(before) or hooks.foreign_hooks(left):
        return left
    merged = dict(left.get("hooks", {}))
    for event, groups in before["hooks"].items():
        theirs = [
            group | {"hooks": kept}
            for group in groups
            if (kept := [hook for hook in group.get("hooks", []) if hooks.is_foreign_hook(hook)])
        ]
        merged |= {event: [*merged.get(event, []), *theirs]} if theirs else {}
    return left | {"hooks": merged}


def _with_empty(left: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """What was there and empty is there again, and what we or the client left empty is not."""
    for section in settings_file.SECTIONS:
        if before.get(section) == {}:
            left = {section: {}} | left
        elif section not in before and left.get(section) == {}:
            left = {key: value for key, value in left.items() if key != section}
    empty: dict[str, Any] = {event: [] for event, groups in before.get("hooks", {}).items() if not groups}
    return left | {"hooks": empty | left.get("hooks", {})} if empty else left


def _hooks(settings: dict[str, Any]) -> list[object]:
    return [
        hook
        for groups in settings.get("hooks", {}).values()
        for group in groups
        for hook in group.get("hooks", [])
    ]


ALIAS = "commands/mem.md"  # a plugin's own command is only known as /mem:mem
APPROVAL = (
    "In this project, Claude Code asks whether to use the MCP server in "
    ".mcp.json. Without your approval the agent cannot search; recording and "
    "recall work anyway."
)
Read = Callable[[Path], str | None]


class Wanted(Struct, frozen=True):
    """How the user wants to be connected."""

    plugin: bool
    take_over: bool  # of another claude-mem
    status_line: bool


class Change(Struct, frozen=True):
    """One file: its text before (None: there is none) and after (None: it is to go)."""

    path: Path
    before: str | None
    after: str | None


class Step(Struct, frozen=True):
    """What the client is asked to do, and what would take that back (None: nothing need)."""

    words: tuple[str, ...]  # without the client's name
    undo: tuple[str, ...] | None = None


class Plan(Struct, frozen=True):
    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not self.changes and not self.steps


def plan(
    place: ClientPaths,
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
        made = hooks.marketplace(texts, place.machine, place.command, version)
        files |= {place.marketplace / path: text for path, text in made.items()}
        wants = settings_file.without_hooks(wants, launcher.is_ours)
        if place.client is None:
            wants = declared(wants, place.marketplace)
        else:
            steps += _declaring(place, found)
        own = {ALIAS}
    else:
        wants = settings_file.with_hooks(undeclared(wants), hooks.hooks(place.machine))
        own = {path for path in texts if path.startswith(("commands/", "skills/"))}
        served, asked = _served(place, read)
        files |= served
        steps += asked
        notes += [APPROVAL] if served and place.scope == "project" else []
    for name in sorted(own):
        text = hooks.fill_in(texts[name], place.command, version)
        there = read(place.folder / name)
        if there is None or is_ours(there, texts[name]):
            files[place.folder / name] = text
        elif there != text:
            notes.append(f"{place.folder / name} is your own file and was not changed.")
    if wanted.status_line or is_status_line(wants):
        wants, said = _with_status_line(wants, place)
        notes += said
    if wants != found:
        files[place.settings] = settings_file.written(wants, before or "")
    changes = [Change(path, read(path), text) for path, text in files.items()]
    return Plan(tuple(each for each in changes if each.before != each.after), tuple(steps), tuple(notes))


def adding(place: ClientPaths) -> Step:
    undo = ("plugin", "marketplace", "remove", hooks.MARKETPLACE)
    return Step(("plugin", "marketplace", "add", str(place.marketplace), "--scope", place.scope), undo)


def installing(place: ClientPaths) -> Step:
    undo = ("plugin", "uninstall", hooks.PLUGIN_ID, "--scope", place.scope)
    return Step(("plugin", "install", hooks.PLUGIN_ID, "--scope", place.scope), undo)


def serving(place: ClientPaths, entry: Any) -> Step:
    named = ("--scope", place.scope, launcher.SERVER)
    return Step(("mcp", "add-json", *named, json.dumps(entry)), ("mcp", "remove", *named))


def reverse(step: Step) -> Step:
    return Step(step.undo or (), step.words)


def _declaring(place: ClientPaths, found: dict[str, Any]) -> list[Step]:
    if declared(found, place.marketplace) == found:
        return []
    steps = [adding(place), installing(place)]
    # Known to the client already, perhaps switched off: then taking it back is not taking it away.
    return [Step(step.words) for step in steps] if is_plugin(found) else steps


def _taken_over(settings: dict[str, Any], wanted: Wanted) -> dict[str, Any]:
    if not wanted.take_over:
        return settings
    for name in hooks.foreign_plugins(settings):
        settings = settings_file.with_entry(settings, "enabledPlugins", name, False)
    return settings_file.without_hooks(settings, hooks.is_foreign_hook)


def _served(place: ClientPaths, read: Read) -> tuple[dict[Path, str], list[Step]]:
    """The MCP server: by the client's own command where it owns the file and writes it all the time."""
    before = read(place.servers)
    found = settings_file.parsed(before or "", str(place.servers))
    entry = launcher.mcp_server(place.machine)
    there = found.get("mcpServers", {}).get(launcher.SERVER)
    if there == entry:
        return {}, []
    if place.client_serves:
        removing = [reverse(serving(place, there))] if there else []
        return {}, [*removing, serving(place, entry)]
    wants = settings_file.with_entry(found, "mcpServers", launcher.SERVER, entry)
    return {place.servers: settings_file.written(wants, before or "")}, []


def _with_status_line(settings: dict[str, Any], place: ClientPaths) -> tuple[dict[str, Any], list[str]]:
    command = f"{place.command} statusline"
    if "statusLine" in settings and not is_status_line(settings):
        return settings, [f"You already have a status line. To add a segment, have it run: {command}"]
    line = settings.get("statusLine", {"type": "command"})
    return settings | {"statusLine": line | {"command": command}}, []


def is_ours(there: str, text: str) -> bool:
    """Written by us, perhaps for another place of the command or an older version: it begins alike."""
    return there.splitlines()[:2] == text.splitlines()[:2]
