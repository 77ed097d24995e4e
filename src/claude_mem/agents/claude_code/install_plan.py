"""What an install changes: the contents of files, and the commands that Claude Code runs. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from claude_mem import __version__
from claude_mem.agents import launcher, settings_file
from claude_mem.agents.claude_code import registration
from claude_mem.agents.claude_code.agent import InstallPaths, plugin_texts
from claude_mem.agents.claude_code.registration import MARKETPLACE, PLUGIN_ID
from claude_mem.agents.connection import InstallOptions
from claude_mem.agents.file_changes import Change, Plan, ReadText, Step
from claude_mem.agents.settings_file import with_entry, without_entry

ALIAS = "commands/mem.md"  # a plugin's own command is only known as /mem:mem
APPROVAL = (
    "In this project, Claude Code asks whether to use the MCP server in "
    ".mcp.json. Without your approval the agent cannot search; recording and "
    "recall work anyway."
)


def plan(place: InstallPaths, options: InstallOptions, read: ReadText, older: Iterable[Path] = ()) -> Plan:
    """The changes from what `read` finds to what is wanted; `older` files of ours are removed if this version
    does not have them. Raises Malformed."""
    texts = plugin_texts()
    before = read(place.settings)
    found = settings_file.parsed(before or "", str(place.settings))
    updated, notes = _taken_over(found) if options.take_over else found, list[str]()
    files: dict[Path, str | None] = dict.fromkeys(older)
    files |= dict(options.new_files)
    steps: list[Step] = []
    if options.plugin:
        made = registration.marketplace(texts, place.machine, place.command, __version__)
        files |= {place.marketplace / path: text for path, text in made.items()}
        updated = settings_file.without_hooks(updated, launcher.is_our_hook)
        if place.client is None:
            updated = declared(updated, place.marketplace)
        elif declared(found, place.marketplace) != found:
            # The client already knows it, perhaps disabled; then undoing the install must not remove it.
            new = [adding(place), installing(place)]
            steps += [Step(step.words) for step in new] if is_plugin(found) else new
        own = {ALIAS}
    else:
        updated = settings_file.with_hooks(undeclared(updated), registration.hooks(place.machine))
        own = {path for path in texts if path.startswith(("commands/", "skills/"))}
        served, serving_steps = _served(place, read)
        files |= served
        steps += serving_steps
        notes += [APPROVAL] if served and place.scope == "project" else []
    for name in sorted(own):
        path, text = place.folder / name, registration.fill_in(texts[name], place.command)
        there = read(path)
        if there is None or is_our_text(there, texts[name]):
            files[path] = text
        elif there != text:
            notes.append(f"{path} is your own file and was not changed.")
    if "statusLine" in updated and not is_status_line(updated):
        if options.status_line:
            notes.append(
                f"You already have a status line. To add a segment, have it run: {place.command} statusline"
            )
    elif options.status_line or "statusLine" in updated:
        line = updated.get("statusLine", {"type": "command"})
        updated = updated | {"statusLine": line | {"command": f"{place.command} statusline"}}
    if updated != found:
        files[place.settings] = settings_file.written(updated, before or "")
    changes = [Change(path, read(path), text) for path, text in files.items()]
    return Plan(tuple(each for each in changes if each.before != each.after), tuple(steps), tuple(notes))


def is_our_text(there: str, text: str) -> bool:
    """Whether we wrote it, perhaps for another path of the command or by an older version: the beginning
    matches."""
    return there.splitlines()[:2] == text.splitlines()[:2]


def _taken_over(settings: dict[str, Any]) -> dict[str, Any]:
    for name in registration.foreign_plugins(settings):
        settings = with_entry(settings, "enabledPlugins", name, False)
    return settings_file.without_hooks(settings, registration.is_foreign_hook)


def _served(place: InstallPaths, read: ReadText) -> tuple[dict[Path, str], list[Step]]:
    """The MCP server: by the client's own command where it owns the file and writes it all the time."""
    before = read(place.servers)
    found = settings_file.parsed(before or "", str(place.servers))
    entry = launcher.STDIO | launcher.mcp_server(place.machine)
    there = found.get("mcpServers", {}).get(launcher.SERVER)
    if there == entry:
        return {}, []
    if place.client_owns_servers:
        removing = [reverse(serving(place, there))] if there else []
        return {}, [*removing, serving(place, entry)]
    updated = with_entry(found, "mcpServers", launcher.SERVER, entry)
    return {place.servers: settings_file.written(updated, before or "")}, []


def adding(place: InstallPaths) -> Step:
    words, added = (
        ("claude", "plugin", "marketplace"),
        ("add", str(place.marketplace), "--scope", place.scope),
    )
    return Step((*words, *added), (*words, "remove", MARKETPLACE))


def installing(place: InstallPaths) -> Step:
    undo = ("claude", "plugin", "uninstall", PLUGIN_ID, "--scope", place.scope)
    return Step(("claude", "plugin", "install", PLUGIN_ID, "--scope", place.scope), undo)


def serving(place: InstallPaths, entry: Any) -> Step:
    named = ("--scope", place.scope, launcher.SERVER)
    return Step(("claude", "mcp", "add-json", *named, json.dumps(entry)), ("claude", "mcp", "remove", *named))


def reverse(step: Step) -> Step:
    return Step(step.undo or (), step.words)


def declared(settings: dict[str, Any], marketplace: Path) -> dict[str, Any]:
    """As the client itself writes it when it installs the plugin."""
    source = {"source": {"source": "directory", "path": str(marketplace)}}
    known = with_entry(settings, "extraKnownMarketplaces", MARKETPLACE, source)
    return with_entry(known, "enabledPlugins", PLUGIN_ID, True)


def undeclared(settings: dict[str, Any]) -> dict[str, Any]:
    without = without_entry(settings, "enabledPlugins", PLUGIN_ID)
    return without_entry(without, "extraKnownMarketplaces", MARKETPLACE)


def is_plugin(settings: dict[str, Any]) -> bool:
    """Whether the client knows the plugin, in any folder, enabled or not."""
    return undeclared(settings) is not settings


def is_connected(settings: dict[str, Any]) -> bool:
    return is_plugin(settings) or any(map(launcher.is_our_hook, settings_file.all_hooks(settings)))


def marketplace_of(settings: dict[str, Any]) -> Path | None:
    """The folder of the plugin that these settings name."""
    match settings.get("extraKnownMarketplaces", {}).get(MARKETPLACE):
        case {"source": {"path": str(path)}}:
            return Path(path)
    return None


def repository_of(settings: dict[str, Any]) -> str | None:
    """Where the plugin comes from, if it was not made by an install but is the repository's own."""
    match settings.get("extraKnownMarketplaces", {}).get(MARKETPLACE):
        case {"source": {"path": str(path)}}:
            return path if (Path(path) / "plugin/bin/claude-mem").is_file() else None
        case {"source": {"repo": str(address)} | {"url": str(address)}}:
            return address
    return None


def data_dir_of(settings: dict[str, Any]) -> Path | None:
    """Where the hooks in these settings (or in a plugin's hooks.json) record; None: the default."""
    our_hooks = filter(launcher.is_our_hook, settings_file.all_hooks(settings))
    return next((Path(name) for hook in our_hooks if (name := launcher.data_dir_of(hook))), None)


def is_status_line(settings: dict[str, Any]) -> bool:
    """Whether it runs only our command; one that also runs other things is the user's."""
    match settings.get("statusLine"):
        case {"command": str(command)}:
            try:
                words = shlex.split(command)
            except ValueError:
                return False
        case _:
            return False
    if words[:1] == ["env"] and len(words) > 2 and words[1].startswith("CLAUDE_MEM_DATA_DIR="):
        words = words[2:]
    by_module = words[1:] == ["-m", "claude_mem", "statusline"]
    return by_module or (len(words) == 2 and Path(words[0]).name == "claude-mem" and words[1] == "statusline")


def restored(now: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    """Without what is ours, and with what was taken over; `before` the install (None: not known)."""
    left = undeclared(settings_file.without_hooks(now, launcher.is_our_hook))
    if is_status_line(left):
        left = {key: value for key, value in left.items() if key != "statusLine"}
        left |= {"statusLine": before["statusLine"]} if before and "statusLine" in before else {}
    return left if before is None else _with_empty(_restored(left, before), before)


def _restored(left: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Enables another claude-mem again, unless it was removed or repaired in the meantime."""
    for name in registration.foreign_plugins(before):
        if name in left.get("enabledPlugins", {}):
            left = with_entry(left, "enabledPlugins", name, before["enabledPlugins"][name])
    if not registration.foreign_hooks(before) or registration.foreign_hooks(left):
        return left
    merged = dict(left.get("hooks", {}))
    for event, groups in before["hooks"].items():
        foreign_groups = [
            group | {"hooks": foreign}
            for group in groups
            if (foreign := [hook for hook in group.get("hooks", []) if registration.is_foreign_hook(hook)])
        ]
        merged |= {event: [*merged.get(event, []), *foreign_groups]} if foreign_groups else {}
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
