"""What in a settings file is ours, and what the file is without it. Pure."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from claude_mem.agents.claude_code import hooks as claude_code_hooks
from claude_mem.agents.claude_code import plugin, settings_file


def declared(settings: dict[str, Any], marketplace: Path) -> dict[str, Any]:
    """As the client itself writes it down when it is asked to install the plugin."""
    source = {"source": {"source": "directory", "path": str(marketplace)}}
    known = settings_file.with_entry(settings, "extraKnownMarketplaces", plugin.MARKETPLACE, source)
    return settings_file.with_entry(known, "enabledPlugins", plugin.ID, True)


def undeclared(settings: dict[str, Any]) -> dict[str, Any]:
    without = settings_file.without_entry(settings, "enabledPlugins", plugin.ID)
    return settings_file.without_entry(without, "extraKnownMarketplaces", plugin.MARKETPLACE)


def is_plugin(settings: dict[str, Any]) -> bool:
    """The plugin is known to the client, wherever it lies, switched on or off."""
    return undeclared(settings) is not settings


def is_connected(settings: dict[str, Any]) -> bool:
    return is_plugin(settings) or any(claude_code_hooks.is_ours(hook) for hook in _hooks(settings))


def marketplace(settings: dict[str, Any]) -> Path | None:
    """Where the plugin lies that these settings name."""
    known = settings.get("extraKnownMarketplaces", {}).get(plugin.MARKETPLACE)
    source = known.get("source") if isinstance(known, dict) else None
    path = source.get("path") if isinstance(source, dict) else None
    return Path(path) if isinstance(path, str) else None


def data_dir(settings: dict[str, Any]) -> Path | None:
    """Where the hooks in these settings (or in a plugin's hooks.json) record; None: the default."""
    named = (
        claude_code_hooks.data_dir_of(hook) for hook in _hooks(settings) if claude_code_hooks.is_ours(hook)
    )
    return next((Path(name) for name in named if name), None)


def restored(now: dict[str, Any], before: dict[str, Any] | None) -> dict[str, Any]:
    """Without what is ours, and with what was taken over; `before` the install (None: nobody knows)."""
    left = undeclared(settings_file.without_hooks(now, claude_code_hooks.is_ours))
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
    for name in claude_code_hooks.foreign_plugins(before):
        if name in left.get("enabledPlugins", {}):
            left = settings_file.with_entry(left, "enabledPlugins", name, before["enabledPlugins"][name])
    if not claude_code_hooks.foreign_hooks(before) or claude_code_hooks.foreign_hooks(left):
        return left
    hooks = dict(left.get("hooks", {}))
    for event, groups in before["hooks"].items():
        theirs = [
            group | {"hooks": kept}
            for group in groups
            if (kept := [hook for hook in group.get("hooks", []) if claude_code_hooks.is_foreign_hook(hook)])
        ]
        hooks |= {event: [*hooks.get(event, []), *theirs]} if theirs else {}
    return left | {"hooks": hooks}


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
