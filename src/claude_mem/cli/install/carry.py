"""Carries an install out, and takes one back. Written down first, so that a kill leaves no riddle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from claude_mem.agents.claude_code import hooks, plugin, settings_file
from claude_mem.cli.install import edge, ours, plan, record
from claude_mem.cli.install.found import Connection
from claude_mem.cli.install.journal import Journal
from claude_mem.cli.install.place import Place
from claude_mem.cli.install.plan import Change, Plan, Step
from claude_mem.cli.install.record import Kept, Record
from claude_mem.model.errors import ClaudeMemError


def out(journal: Journal, place: Place, planned: Plan, *, by_plugin: bool) -> None:
    """Raises ClaudeMemError if the client refuses."""
    made = record.load(place.record) or record.new(place, plugin=by_plugin)
    for path in (place.record, place.settings, *(change.path for change in planned.changes)):
        made = made.with_folders(path)
    made = _noted(place, made)
    for change in planned.changes:
        made = made.with_file(change.path, change.before, change.after)
    journal.write(place.record, record.text(made))
    for change in planned.changes:
        if change.after is None:
            journal.remove(change.path, (str(change.path.parent),))
        else:
            journal.write(change.path, change.after, is_new=change.before is None)
    for step in planned.steps:
        if said := journal.ask(place, step):
            raise ClaudeMemError(
                f"Claude Code refused `claude {' '.join(step.words[:3])}`: {said}\n"
                "Everything is as it was before."
                + (" Without its plugins: claude-mem install --settings" if by_plugin else "")
            )
    kept = made.files[str(place.settings)]
    by_client = replace(kept, after=edge.read(place.settings))
    journal.write(
        place.record, record.text(replace(made, files={**made.files, str(place.settings): by_client}))
    )


def backwards(connected: Connection) -> Plan:
    """What has to be done so that it is as before the install; what changed since is kept."""
    place, made = connected.place, connected.made
    changes, notes = [], []
    now = edge.read(place.settings)
    kept = made.files.get(str(place.settings))
    if now is not None:
        changes.append(Change(place.settings, now, _without_us(place.settings, now, kept)))
    changes += _unserved(place, made)
    mine = marketed(place)
    changes += [Change(path, edge.read(path), None) for path in mine]
    for name, kept in made.files.items():
        path = Path(name)
        there = edge.read(path)
        if there is None or path in (place.settings, place.servers, *mine):
            continue
        if there != kept.after:
            notes.append(f"{path} was changed since, and stays.")
        else:
            changes.append(Change(path, there, kept.before))
    return Plan(
        tuple(change for change in changes if change.before != change.after),
        _steps(place, made),
        tuple(notes),
    )


def back(journal: Journal, connected: Connection, how: Plan) -> list[str]:
    """Returns what the client refused to do. No error: what it has not got cannot be taken away."""
    place, made = connected.place, connected.made
    refused = [
        f"Claude Code said of `claude {' '.join(step.words[:3])}`: {said}"
        for step in how.steps
        if (said := journal.ask(place, step))
    ]
    folders = made.folders
    for path in marketed(place):
        folders += tuple(str(each) for each in path.parents if each.is_relative_to(place.marketplace))
    for change in how.changes:
        if change.after is None:
            journal.remove(change.path, folders)
        else:
            journal.write(change.path, change.after)
    if connected.is_recorded:
        journal.remove(place.record, folders)
    return refused


def after(how: Plan, connected: Connection) -> dict[Path, str | None]:
    """What files will hold that this changes, also those that the client itself writes."""
    place = connected.place
    left = {change.path: change.after for change in how.changes}
    if how.steps and place.client_serves and (now := edge.read(place.servers)):
        left[place.servers] = _unserved_text(place, connected.made, now)
    return left


def _noted(place: Place, made: Record) -> Record:
    """With the settings as they were without us, also if they were changed since an earlier install."""
    now = edge.read(place.settings)
    earlier = made.files.get(str(place.settings))
    if earlier is None or earlier.after == now:
        noted = made.with_file(place.settings, now, now)
    else:
        before = None if now is None else _without_us(place.settings, now, earlier)
        noted = replace(made, files={**made.files, str(place.settings): Kept(before, now)})
    there = _server(place)
    is_anothers = there is not None and not hooks.is_our_server(there)
    return replace(noted, server=there) if is_anothers and place.client_serves else noted


def _without_us(path: Path, now: str, kept: Kept | None) -> str | None:
    """The file's text without what is ours: to the byte as before, if nothing else has changed since."""
    if kept and now == kept.after:
        return kept.before
    found = settings_file.parsed(now, str(path))
    before = settings_file.parsed(kept.before or "", str(path)) if kept else None
    wants = ours.restored(found, before)
    if kept and wants == before:
        return kept.before
    return now if wants == found else settings_file.written(wants, now)


def _unserved(place: Place, made: Record) -> list[Change]:
    """Without the MCP server's entry, unless the client itself takes it out."""
    now = edge.read(place.servers)
    if now is None or place.client_serves or not hooks.is_our_server(_server(place)):
        return []
    return [Change(place.servers, now, _unserved_text(place, made, now))]


def _unserved_text(place: Place, made: Record, now: str) -> str | None:
    kept = made.files.get(str(place.servers))
    if kept and kept.after == now:
        return kept.before
    before = settings_file.parsed((kept and kept.before) or "", str(place.servers))
    found = settings_file.parsed(now, str(place.servers))
    theirs = before.get("mcpServers", {}).get(hooks.SERVER) or made.server
    if theirs:
        wants = settings_file.with_entry(found, "mcpServers", hooks.SERVER, theirs)
    else:
        wants = settings_file.without_entry(found, "mcpServers", hooks.SERVER)
    return settings_file.written(wants, now)


def _server(place: Place) -> Any:
    found = settings_file.parsed(edge.read(place.servers) or "", str(place.servers))
    return found.get("mcpServers", {}).get(hooks.SERVER)


def _steps(place: Place, made: Record) -> tuple[Step, ...]:
    if place.client is None:
        return ()
    found = settings_file.parsed(edge.read(place.settings) or "", str(place.settings))
    steps = []
    if plugin.ID in found.get("enabledPlugins", {}):
        steps.append(plan.reverse(plan.installing(place)))
    if plugin.MARKETPLACE in found.get("extraKnownMarketplaces", {}):
        steps.append(plan.reverse(plan.adding(place)))
    there = _server(place)
    if place.client_serves and hooks.is_our_server(there):
        steps.append(plan.reverse(plan.serving(place, there)))
        steps += [plan.serving(place, made.server)] if made.server else []
    return tuple(steps)


def marketed(place: Place) -> list[Path]:
    """The files of the plugin that was made for this machine, of whatever version."""
    manifest = place.marketplace / ".claude-plugin/marketplace.json"
    if f'"{plugin.MARKETPLACE}"' not in (edge.read(manifest) or ""):
        return []
    return [manifest, *edge.files(place.marketplace / plugin.ROOT)]
