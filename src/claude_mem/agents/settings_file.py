"""Edits a settings file in Claude Code's format: text in, text out; the user's own entries are preserved."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from claude_mem.agents import launcher
from claude_mem.model.errors import ClaudeMemError

Hooks = dict[str, list[dict[str, Any]]]
SECTIONS = ("hooks", "enabledPlugins", "extraKnownMarketplaces", "mcpServers")
BOM = "\ufeff"


class Malformed(ClaudeMemError):
    """A file that the user has to fix; `str()` shows where."""


def malformed(why: str) -> Malformed:
    return Malformed(f"{why}. Nothing was changed.")


def parsed(text: str, path: str, *, strict: bool = True) -> dict[str, Any]:
    """The file's object; {} for an empty or absent one. `strict`: all of its hooks must be lists of groups.
    Raises Malformed, with the line that is wrong."""
    plain = text.removeprefix(BOM)
    if not plain.strip():
        return {}
    try:
        found = json.loads(plain, parse_constant=_refused, parse_float=_finite)
    except json.JSONDecodeError as error:
        line = (plain.splitlines() or [""])[error.lineno - 1 : error.lineno]
        shown = f"\n  {error.lineno} | {line[0].strip()[:100]}" if line else ""
        raise Malformed(
            f"{path} is not valid JSON (line {error.lineno}, column {error.colno}: {error.msg}).{shown}\n"
            "Nothing was changed. Fix the file (JSON allows neither comments nor trailing commas) and run "
            "the command again."
        ) from None
    except ValueError as error:
        raise malformed(f"{path} is not valid JSON ({error})") from None
    except RecursionError:
        raise malformed(f"{path} is nested too deeply") from None
    if not isinstance(found, dict):
        raise malformed(f"{path} must contain a JSON object, not {type(found).__name__}")
    for key in SECTIONS:
        if not isinstance(found.get(key, {}), dict):
            raise malformed(f"{path}: {key} must be an object")
    for event, groups in found.get("hooks", {}).items():
        if strict and not _are_groups(groups):
            raise malformed(f"{path}: hooks.{event} must be a list of objects with a list of hooks")
    return found


def written(settings: dict[str, Any], like: str) -> str:
    """The object as text, with the file's previous indentation and line endings."""
    indented = next((line for line in like.splitlines() if line[:1] in (" ", "\t") and line.strip()), "  ")
    indent = indented[: len(indented) - len(indented.lstrip())]
    text = json.dumps(settings, indent=indent, ensure_ascii=False) + "\n"
    try:
        text.encode()
    except UnicodeEncodeError:  # half a character, which JSON can say and UTF-8 cannot
        text = json.dumps(settings, indent=indent) + "\n"
    return text.replace("\n", "\r\n") if "\r\n" in like else text


def with_hooks(settings: dict[str, Any], hooks: Hooks) -> dict[str, Any]:
    """Adds our hooks after the existing ones, and replaces those of an earlier install."""
    before = without_hooks(settings, launcher.is_our_hook)
    merged = dict(before.get("hooks", {}))
    for event, groups in hooks.items():
        merged[event] = [*merged.get(event, []), *groups]
    return before | {"hooks": merged}


def without_hooks(settings: dict[str, Any], which: Callable[[object], bool]) -> dict[str, Any]:
    """Removes the hooks that `which` selects, and objects that become empty."""
    if not any(map(which, all_hooks(settings))):
        return settings
    left = {
        event: _without(groups, which) if _are_groups(groups) else groups
        for event, groups in settings["hooks"].items()
    }
    left = {event: groups for event, groups in left.items() if groups or not settings["hooks"][event]}
    rest = {key: value for key, value in settings.items() if key != "hooks"}
    return settings | {"hooks": left} if left else rest


def all_hooks(settings: dict[str, Any]) -> list[object]:
    named = [groups for groups in settings.get("hooks", {}).values() if _are_groups(groups)]
    return [hook for groups in named for group in groups for hook in group.get("hooks", [group])]


def with_entry(settings: dict[str, Any], section: str, name: str, value: object) -> dict[str, Any]:
    return settings | {section: settings.get(section, {}) | {name: value}}


def without_entry(settings: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    """Removes one entry of a section, and the section if it becomes empty."""
    if name not in settings.get(section, {}):
        return settings
    left = {key: value for key, value in settings[section].items() if key != name}
    rest = {key: value for key, value in settings.items() if key != section}
    return settings | {section: left} if left else rest


def _without(groups: list[dict[str, Any]], which: Callable[[object], bool]) -> list[dict[str, Any]]:
    left = []
    for group in groups:
        if "hooks" not in group and which(group):  # Cursor's are in no group
            continue
        hooks = group.get("hooks", [])
        own = [hook for hook in hooks if not which(hook)]
        if own or not hooks:
            left.append(group if own == hooks else group | {"hooks": own})
    return left


def _are_groups(groups: object) -> bool:
    return isinstance(groups, list) and all(
        isinstance(group, dict) and isinstance(group.get("hooks", []), list) for group in groups
    )


def _finite(number: str) -> float:
    """Rejects numbers that cannot be written back unchanged."""
    if float(number) in (float("inf"), float("-inf")):
        _refused(number)
    return float(number)


def _refused(number: str) -> None:
    raise ValueError(f"{number} is not a valid JSON number")
