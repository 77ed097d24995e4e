"""Carries an install out, and takes one back. Written down first, so that a kill leaves no riddle."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from claude_mem.cli.install import edge, plan, record
from claude_mem.cli.install.place import Place
from claude_mem.cli.install.plan import Change, Plan
from claude_mem.cli.install.record import Kept, Record
from claude_mem.clients.claude_code import connection, plugin, settings_file
from claude_mem.model.errors import ClaudeMemError


@dataclass(frozen=True, slots=True)
class Back:
    """How one install is taken back."""

    changes: tuple[Change, ...]  # files that get another text
    removed: tuple[Path, ...]
    commands: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]

    @property
    def is_empty(self) -> bool:
        return not (self.changes or self.removed or self.commands)


def out(place: Place, planned: Plan, *, by_plugin: bool) -> None:
    """Raises ClaudeMemError if the client refuses, with everything as it was before."""
    made = record.load(place.record) or Record(by_plugin, place.scope, str(place.folder))
    for path in (place.settings, *(change.path for change in planned.changes)):
        made = made.with_folders(path)
    made = _noted(place, made)
    for change in planned.changes:
        made = made.with_file(change.path, change.before, change.after)
    record.save(made, place.record)
    for change in planned.changes:
        edge.write(change.path, change.after)
    for command in planned.commands:
        refused = edge.ask_client(place.client or "claude", command)
        if refused:
            back(place, made, backwards(place, made))
            raise ClaudeMemError(
                f"Claude Code refused `claude {' '.join(command)}`: {refused}\n"
                "Everything is as it was before. Without its plugins: claude-mem install --settings"
            )
    settings = made.files[str(place.settings)]
    by_client = replace(settings, after=edge.read(place.settings) or "")
    record.save(replace(made, files={**made.files, str(place.settings): by_client}), place.record)


def _noted(place: Place, made: Record) -> Record:
    """With the settings as they were without us, also if they were changed since an earlier install."""
    now = edge.read(place.settings)
    earlier = made.files.get(str(place.settings))
    if earlier is None or earlier.after == (now or ""):
        return made.with_file(place.settings, now, now or "")
    structurally = _structurally(place.settings, now or "", earlier.before)
    without = structurally[0].after if structurally else now
    return replace(made, files={**made.files, str(place.settings): Kept(without, now or "")})


def backwards(place: Place, made: Record) -> Back:
    """What has to be done so that it is as before the install; what changed since is kept."""
    changes, removed, notes = [], [], []
    settings = made.files.get(str(place.settings))
    now = edge.read(place.settings)
    if now is not None and settings and now == settings.after:
        if settings.before is None:
            removed.append(place.settings)
        elif settings.before != now:
            changes.append(Change(place.settings, now, settings.before))
    elif now is not None:
        changes += _structurally(place.settings, now, settings.before if settings else None)
    unserved = _unserved(place, made)
    removed += [change.path for change in unserved if not change.after]
    changes += [change for change in unserved if change.after]
    for name, kept in made.files.items():
        path = Path(name)
        if path in (place.settings, place.servers):
            continue
        there = edge.read(path)
        if there is None:
            continue
        if there != kept.after and place.marketplace not in path.parents:
            notes.append(f"{path} was changed since, and stays.")
        elif kept.before is None:
            removed.append(path)
        else:
            changes.append(Change(path, there, kept.before))
    return Back(tuple(changes), tuple(removed), _commands(place, made), tuple(notes))


def back(place: Place, made: Record, how: Back) -> None:
    for command in how.commands:
        edge.ask_client(place.client or "claude", command)  # what it has not got cannot be taken away
    for change in how.changes:
        edge.write(change.path, change.after)
    for path in how.removed:
        edge.remove(path, made.folders)
    shutil.rmtree(place.marketplace, ignore_errors=True)
    place.record.unlink(missing_ok=True)


def _structurally(path: Path, now: str, before: str | None) -> list[Change]:
    found = settings_file.parsed(now, str(path))
    wants = plan.restored(found, settings_file.parsed(before or "", str(path)))
    return [Change(path, now, settings_file.written(wants, now))] if wants != found else []


def _unserved(place: Place, made: Record) -> list[Change]:
    """Without the MCP server's entry, unless the client itself takes it out; "": there was no such file."""
    now = edge.read(place.servers)
    if made.plugin or now is None or _client_serves(place):
        return []
    found = settings_file.parsed(now, str(place.servers))
    wants = settings_file.without_entry(found, "mcpServers", connection.SERVER)
    kept = made.files.get(str(place.servers))
    is_untouched = kept is not None and kept.after == now
    after = (kept.before or "") if kept and is_untouched else settings_file.written(wants, now)
    return [Change(place.servers, now, after)] if wants != found else []


def _client_serves(place: Place) -> bool:
    return place.scope == "user" and place.client is not None


def _commands(place: Place, made: Record) -> tuple[tuple[str, ...], ...]:
    if place.client is None:
        return ()
    if made.plugin:
        found = settings_file.parsed(edge.read(place.settings) or "", str(place.settings))
        known = plugin.MARKETPLACE in found.get("extraKnownMarketplaces", {})
        here = plugin.ID in found.get("enabledPlugins", {})
        uninstall = [("plugin", "uninstall", plugin.ID, "--scope", made.scope)] if here else []
        return (*uninstall, *([("plugin", "marketplace", "remove", plugin.MARKETPLACE)] if known else []))
    found = settings_file.parsed(edge.read(place.servers) or "", str(place.servers))
    serves = _client_serves(place) and connection.SERVER in found.get("mcpServers", {})
    return (("mcp", "remove", "--scope", made.scope, connection.SERVER),) if serves else ()
