"""How Claude Code is connected now; connects it, and takes a connection back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec import Struct

from claude_mem import __version__
from claude_mem.agents import launcher
from claude_mem.agents.claude_code import hooks, settings_file
from claude_mem.agents.claude_code.settings_file import Malformed
from claude_mem.cli.install import client_paths, file_changes, plan
from claude_mem.cli.install.client_paths import ClientPaths, FileChange, Record
from claude_mem.cli.install.file_changes import Journal, read_settings
from claude_mem.cli.install.plan import Change, Plan, Step
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.structs import replace
from claude_mem.settings import Settings


class Connection(Struct, frozen=True):
    place: ClientPaths
    made: Record
    is_recorded: bool


def connections(chosen: Settings) -> list[Connection]:
    """All there are: of this data directory, and what the user's and this directory's settings show, also if
    it records elsewhere or its record is gone. Raises Malformed."""
    recorded = _recorded(chosen)
    found = [recorded] if recorded else []
    for scope in client_paths.SCOPES:
        here = client_paths.place_here(chosen, scope)
        if any(each.place.folder == here.folder for each in found):
            continue
        try:
            shown = _in_settings(chosen, here)
        except Malformed:
            if scope == "user":
                raise
            continue  # the client cannot read it either
        found += [shown] if shown else []
    return found


def _in_settings(chosen: Settings, here: ClientPaths) -> Connection | None:
    settings = read_settings(here.settings)
    if not plan.is_connected(settings) and not launcher.is_our_server(_server(here)):
        return None
    # What holds the hooks: the settings themselves, or a file of the plugin that they name.
    marketplace = plan.marketplace(settings)
    hooked = read_settings(marketplace / hooks.PLUGIN_ROOT / "hooks/hooks.json") if marketplace else settings
    data_dir = plan.data_dir(hooked) or Path.home() / ".claude-mem"
    elsewhere = replace(chosen, data_dir=data_dir)
    recorded = _recorded(elsewhere)
    if recorded and recorded.place.folder == here.folder:
        return recorded
    there = client_paths.place_here(elsewhere, here.scope)
    return Connection(there, _unrecorded(there, by_plugin=plan.is_plugin(settings)), False)


def _unrecorded(there: ClientPaths, *, by_plugin: bool) -> Record:
    """What an install must have written down whose record went with the data directory."""
    made = client_paths.new_record(there, plugin=by_plugin)
    for name, text in client_paths.plugin_texts().items():
        path = there.folder / name
        if plan.is_ours(file_changes.read_text(path) or "", text):
            folders = [str(each) for each in path.parents if there.folder in each.parents]
            made = replace(made, folders=(*made.folders, *folders))
            made = made.with_file(path, None, hooks.fill_in(text, there.command, __version__))
    return made


def _recorded(chosen: Settings) -> Connection | None:
    made = client_paths.load_record(client_paths.place_here(chosen, "user").record)
    if made is None:
        return None
    return Connection(client_paths.place_of(chosen, made.scope, made.config, Path(made.folder)), made, True)


def connect(journal: Journal, place: ClientPaths, planned: Plan, *, by_plugin: bool) -> None:
    """Raises ClaudeMemError if the client refuses."""
    made = client_paths.load_record(place.record) or client_paths.new_record(place, plugin=by_plugin)
    for path in (place.record, place.settings, *(change.path for change in planned.changes)):
        made = made.with_folders(path)
    made = _noted(place, made)
    for change in planned.changes:
        made = made.with_file(change.path, change.before, change.after)
    journal.write(place.record, client_paths.record_text(made))
    for change in planned.changes:
        if change.after is None:
            journal.remove(change.path, (str(change.path.parent),))
        else:
            journal.write(change.path, change.after, is_new=change.before is None)
    for step in planned.steps:
        if said := journal.ask(place, step):
            hint = " To install without a plugin: claude-mem install --settings" if by_plugin else ""
            raise ClaudeMemError(f"{_refusal(step, said)}\nNothing was changed.{hint}")
    by_client = replace(made.files[str(place.settings)], after=file_changes.read_text(place.settings))
    made = replace(made, files={**made.files, str(place.settings): by_client})
    journal.write(place.record, client_paths.record_text(made))


def undo_plan(connected: Connection) -> Plan:
    """What has to be done so that it is as before the install; what changed since is kept."""
    place, made = connected.place, connected.made
    changes, notes = [], []
    now = file_changes.read_text(place.settings)
    kept = made.files.get(str(place.settings))
    if now is not None:
        changes.append(Change(place.settings, now, _without_us(place.settings, now, kept)))
    servers = file_changes.read_text(place.servers)
    # The MCP server's entry goes too, unless the client itself takes it out.
    if servers is not None and not place.client_serves and launcher.is_our_server(_server(place)):
        changes.append(Change(place.servers, servers, _unserved_text(place, made, servers)))
    mine = plugin_files(place)
    changes += [Change(path, file_changes.read_text(path), None) for path in mine]
    for name, kept in made.files.items():
        path = Path(name)
        there = file_changes.read_text(path)
        if there is None or path in (place.settings, place.servers, *mine):
            continue
        if there != kept.after:
            notes.append(f"{path} was changed since the install and is kept.")
        else:
            changes.append(Change(path, there, kept.before))
    changed = tuple(change for change in changes if change.before != change.after)
    return Plan(changed, _steps(place, made), tuple(notes))


def disconnect(journal: Journal, connected: Connection, how: Plan) -> list[str]:
    """Returns what the client refused to do. No error: what it has not got cannot be taken away."""
    place, made = connected.place, connected.made
    refused = [_refusal(step, said) for step in how.steps if (said := journal.ask(place, step))]
    folders = made.folders
    for path in plugin_files(place):
        folders += tuple(str(each) for each in path.parents if each.is_relative_to(place.marketplace))
    for change in how.changes:
        if change.after is None:
            journal.remove(change.path, folders)
        else:
            journal.write(change.path, change.after)
    if connected.is_recorded:
        journal.remove(place.record, folders)
    return refused


def _refusal(step: Step, said: str) -> str:
    return f"Claude Code refused `claude {' '.join(step.words[:3])}`: {said}"


def texts_after(how: Plan, connected: Connection) -> dict[Path, str | None]:
    """What files will hold that this changes, also those that the client itself writes."""
    place = connected.place
    left = {change.path: change.after for change in how.changes}
    if how.steps and place.client_serves and (now := file_changes.read_text(place.servers)):
        left[place.servers] = _unserved_text(place, connected.made, now)
    return left


def _noted(place: ClientPaths, made: Record) -> Record:
    """With the settings as they were without us, also if they were changed since an earlier install."""
    now = file_changes.read_text(place.settings)
    earlier = made.files.get(str(place.settings))
    if earlier is None or earlier.after == now:
        noted = made.with_file(place.settings, now, now)
    else:
        before = None if now is None else _without_us(place.settings, now, earlier)
        noted = replace(made, files={**made.files, str(place.settings): FileChange(before, now)})
    there = _server(place)
    is_anothers = there is not None and not launcher.is_our_server(there)
    return replace(noted, server=there) if is_anothers and place.client_serves else noted


def _without_us(path: Path, now: str, kept: FileChange | None) -> str | None:
    """The file's text without what is ours: to the byte as before, if nothing else has changed since."""
    if kept and now == kept.after:
        return kept.before
    found = settings_file.parsed(now, str(path))
    before = settings_file.parsed(kept.before or "", str(path)) if kept else None
    wants = plan.restored(found, before)
    if kept and wants == before:
        return kept.before
    return now if wants == found else settings_file.written(wants, now)


def _unserved_text(place: ClientPaths, made: Record, now: str) -> str | None:
    kept = made.files.get(str(place.servers))
    if kept and kept.after == now:
        return kept.before
    before = settings_file.parsed((kept and kept.before) or "", str(place.servers))
    found = settings_file.parsed(now, str(place.servers))
    theirs = before.get("mcpServers", {}).get(launcher.SERVER) or made.server
    if theirs:
        wants = settings_file.with_entry(found, "mcpServers", launcher.SERVER, theirs)
    else:
        wants = settings_file.without_entry(found, "mcpServers", launcher.SERVER)
    return settings_file.written(wants, now)


def _server(place: ClientPaths) -> Any:
    return read_settings(place.servers).get("mcpServers", {}).get(launcher.SERVER)


def _steps(place: ClientPaths, made: Record) -> tuple[Step, ...]:
    if place.client is None:
        return ()
    found = read_settings(place.settings)
    steps = []
    if hooks.PLUGIN_ID in found.get("enabledPlugins", {}):
        steps.append(plan.reverse(plan.installing(place)))
    if hooks.MARKETPLACE in found.get("extraKnownMarketplaces", {}):
        steps.append(plan.reverse(plan.adding(place)))
    there = _server(place)
    if place.client_serves and launcher.is_our_server(there):
        steps.append(plan.reverse(plan.serving(place, there)))
        steps += [plan.serving(place, made.server)] if made.server else []
    return tuple(steps)


def plugin_files(place: ClientPaths) -> list[Path]:
    """The files of the plugin that was made for this machine, of whatever version."""
    manifest = place.marketplace / ".claude-plugin/marketplace.json"
    if f'"{hooks.MARKETPLACE}"' not in (file_changes.read_text(manifest) or ""):
        return []
    return [manifest, *file_changes.files_in(place.marketplace / hooks.PLUGIN_ROOT)]
