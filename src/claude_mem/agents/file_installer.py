"""Connects claude-mem to an agent by editing files, and disconnects it: an `Installer` (`agents.catalog`).

An agent declares what goes into which file (`FilePart`). This module adds it, records it, and restores every
byte.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from claude_mem.agents import launcher, settings_file
from claude_mem.agents.catalog import Agent, Installation, InstallOptions
from claude_mem.agents.claude_code import registration
from claude_mem.agents.file_changes import (
    Change,
    InstallRecord,
    Journal,
    Plan,
    SavedText,
    has_events,
    load_record,
    read_text,
)
from claude_mem.agents.launcher import Machine, hook_line
from claude_mem.agents.settings_file import Malformed
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.structs import replace

USER = "user"


class FilePart(Struct, frozen=True):
    """Our part of one file. `without` receives a text that has it; None: nothing else is in the file."""

    path: Path
    with_us: Callable[[str], str]
    without_us: Callable[[str], str | None]
    data_dir_in: Callable[[str], str | None]  # of a text that we are in: "" for the default; None: not in it
    executable: bool = False
    warnings: Callable[[str], list[str]] = lambda _: []  # of a text that an install leaves, for its user


# A settings file in JSON: hooks by their events, and a section that names MCP servers.


def json_part(
    path: Path,
    *,
    hooks: Mapping[str, list[dict[str, Any]]] | None = None,
    servers: str = "",
    server: Mapping[str, Any] | None = None,
    needs: Mapping[str, Any] | None = None,
) -> FilePart:
    """`servers`: the section in which MCP servers are named. `needs`: what the file must say besides."""

    def with_us(text: str) -> str:
        found = wants = settings_file.parsed(text, str(path), strict=False)
        if hooks:
            wants = dict(needs or {}) | settings_file.with_hooks(wants, dict(hooks))
        if server and _may_serve(found):
            wants = settings_file.with_entry(wants, servers, launcher.SERVER, dict(server))
        return text if wants == found and text.strip() else settings_file.written(wants, text)

    def without_us(text: str) -> str | None:
        if not launcher.is_named_in(text):
            return text  # it may be no JSON at all, and need not be
        found = settings_file.parsed(text, str(path), strict=False)
        left = settings_file.without_hooks(found, launcher.is_ours)
        if _is_our_server(left):
            left = settings_file.without_entry(left, servers, launcher.SERVER)
        if left == found:
            return text
        return settings_file.written(left, text) if left and left != needs else None

    def data_dir_in(text: str) -> str | None:
        if not launcher.is_named_in(text):
            return None
        found = settings_file.parsed(text, str(path), strict=False)
        for hook in filter(launcher.is_ours, settings_file.all_hooks(found)):
            return launcher.data_dir_of(hook) or ""
        if not _is_our_server(found):
            return None
        entry = found[servers][launcher.SERVER]
        return str((entry.get("env") or entry.get("environment") or {}).get("CLAUDE_MEM_DATA_DIR", ""))

    def _named(found: dict[str, Any]) -> Any:
        section = found.get(servers, {}) if servers else {}
        if not isinstance(section, dict):
            raise Malformed(f"{path}: {servers} must be an object. Nothing was changed.")
        return section.get(launcher.SERVER)

    def _is_our_server(found: dict[str, Any]) -> bool:
        return launcher.is_our_server(_named(found))

    def _may_serve(found: dict[str, Any]) -> bool:
        return _named(found) is None or _is_our_server(found)

    def warnings(text: str) -> list[str]:
        found = settings_file.parsed(text, str(path), strict=False)
        theirs = registration.foreign_hooks(found)
        return [
            *([_FOREIGN.format(path=path)] if theirs else []),
            *([_TAKEN.format(path=path)] if server and not _may_serve(found) else []),
        ]

    return FilePart(path, with_us, without_us, data_dir_in, warnings=warnings)


_FOREIGN = (
    "{path} also has the hooks of another claude-mem: both record every session. To have one memory, "
    "uninstall the other."
)
_TAKEN = (
    f"{{path}} has an MCP server of yours named {launcher.SERVER}. It was not changed, so the agent cannot "
    "search memory over MCP. Rename it and run claude-mem install again."
)
_INLINE = (
    "{path}: mcp_servers is an inline table, which was not changed, so the agent cannot search memory over "
    f"MCP. Add {launcher.SERVER} to it by hand: claude-mem mcp prints the entry."
)


def hook_groups(
    machine: Machine, agent: str, events: Iterable[str], *, timeout: int, **more: str
) -> dict[str, list[dict[str, Any]]]:
    """The hooks for these events of an agent, as Claude Code's settings would have them."""

    def entry(event: str) -> dict[str, Any]:
        verb = "context" if event == "SessionStart" else "hook"
        return {"type": "command", **more, "command": hook_line(machine, verb, agent), "timeout": timeout}

    return {event: [{"hooks": [entry(event)]}] for event in events}


def own_file(
    path: Path, text: str, *, data_dir_in: Callable[[str], str | None] | None = None, executable: bool = False
) -> FilePart:
    """A file that is ours alone; another's by its name is left as it is, and said to be in the way.
    `data_dir_in`: where one of ours records, None: the default."""

    def with_us(there: str) -> str:
        if there and launcher.MARK not in there:
            raise ClaudeMemError(
                f"{path} is your own file, in the place of claude-mem's hooks. It was not changed. "
                "Rename it and run the command again."
            )
        return text

    def found_in(there: str) -> str | None:
        return ((data_dir_in or _noted_data_dir)(there) or "") if launcher.MARK in there else None

    return FilePart(
        path, with_us, lambda there: None if launcher.MARK in there else there, found_in, executable
    )


_NOTE = re.compile(r"claude-mem data directory: (\".*\")$", re.MULTILINE)


def data_dir_note(machine: Machine) -> str:
    """The text of a comment in a file that we write."""
    where = json.dumps(machine.data_dir or "")
    return (
        f"Written by claude-mem install; claude-mem uninstall removes it. claude-mem data directory: {where}"
    )


def _noted_data_dir(text: str) -> str | None:
    found = _NOTE.search(text)
    return json.loads(found[1]) if found else None


# A table in a TOML file. It is appended and cut out as text: the rest of the file is not ours to rewrite.


def toml_server(path: Path, machine: Machine) -> FilePart:
    head = f'[mcp_servers."{launcher.SERVER}"]'
    server = launcher.mcp_server(machine)
    lines = [head, f"command = {json.dumps(server['command'])}", f"args = {json.dumps(server['args'])}"]
    if "env" in server:
        members = ", ".join(f"{name} = {json.dumps(value)}" for name, value in server["env"].items())
        lines.append(f"env = {{ {members} }}")
    table = "\n".join(lines) + "\n"

    def entry(text: str) -> Any:
        try:
            found = tomllib.loads(text).get("mcp_servers", {})
        except tomllib.TOMLDecodeError as error:
            raise Malformed(
                f"{path} is not valid TOML ({error}). Nothing was changed. Fix the file and run the command "
                "again."
            ) from None
        if not isinstance(found, dict):
            raise Malformed(f"{path}: mcp_servers must be a table. Nothing was changed.")
        return found.get(launcher.SERVER)

    def with_us(text: str) -> str:
        there = entry(text)
        if there == tomllib.loads(table)["mcp_servers"][launcher.SERVER] or (
            there is not None and not launcher.is_our_server(there)
        ):
            return text  # up to date, or somebody's own
        if there is not None and (updated := _updated(text, there)):
            return updated
        left = (without_us(text) or "") if there is not None else text
        gap = "" if not left else "\n" if left.endswith("\n") else "\n\n"
        wants = left + gap + table
        try:
            entry(wants)
        except Malformed:  # what an inline table holds is all there is
            return text
        return wants

    def _updated(text: str, there: dict[str, Any]) -> str | None:
        """Replaces our lines, and keeps the user's lines in our table, such as a timeout; None: too
        complex."""
        before, inside, rest = _split(text)
        own = [line for line in inside if not line.startswith(("command", "args", "env"))]
        wants = before + table + "".join([*own, *rest])
        ours = tomllib.loads(table)["mcp_servers"][launcher.SERVER]
        theirs = {key: value for key, value in there.items() if key not in ("command", "args", "env")}
        try:
            return wants if theirs and entry(wants) == theirs | ours else None
        except Malformed:
            return None

    def without_us(text: str) -> str | None:
        if not launcher.is_named_in(text) or not launcher.is_our_server(entry(text)):
            return text
        before, _, rest = _split(text)
        return ((before if rest else before.removesuffix("\n")) + "".join(rest)) or None

    def _split(text: str) -> tuple[str, list[str], list[str]]:
        """What comes before our table, its lines, and those after it."""
        before, _, after = text.partition(head)
        lines = after.splitlines(keepends=True)
        end = next((at for at, line in enumerate(lines) if at and line.lstrip().startswith("[")), len(lines))
        return before, lines[1:end], lines[end:]

    def data_dir_in(text: str) -> str | None:
        if not launcher.is_named_in(text) or not launcher.is_our_server(there := entry(text)):
            return None
        return str(there.get("env", {}).get("CLAUDE_MEM_DATA_DIR", ""))

    def warnings(text: str) -> list[str]:
        there = entry(text)
        if launcher.is_our_server(there):
            return []
        return [(_INLINE if there is None else _TAKEN).format(path=path)]

    return FilePart(path, with_us, without_us, data_dir_in, warnings=warnings)


class FileConnection(Struct, frozen=True):
    agent: Agent
    parts: tuple[FilePart, ...]
    made: InstallRecord
    data_dir: Path
    is_recorded: bool
    scope: str = USER
    is_plugin: bool = False
    program: str | None = None
    why_left: str | None = None

    @property
    def how(self) -> str:
        return f"by {self.parts[0].path}"

    @property
    def is_current(self) -> bool:
        return not _missing(self.parts, read_text)

    @property
    def warnings(self) -> list[str]:
        return _warnings(self.parts, read_text)

    def undo_plan(self) -> Plan:
        changes, notes = [], []
        ours = {part.path: part for part in self.parts}
        for path in dict.fromkeys([*ours, *map(Path, self.made.files)]):
            now, saved = read_text(path), self.made.files.get(str(path))
            if now is None:
                continue
            if path == self.data_dir / paths.SETTINGS and has_events(self.data_dir):
                continue
            if saved and now == saved.after:
                changes.append(Change(path, now, saved.before))
            elif path in ours:
                left = ours[path].without_us(now)
                changes.append(Change(path, now, _as_saved(left, saved)))
            else:
                notes.append(f"{path} was changed after the installation, so it was left alone.")
        changed = tuple(each for each in changes if each.before != each.after)
        return Plan(changed, (), tuple(notes), self.made.restores(changed))

    def disconnect(self, journal: Journal, plan: Plan) -> list[str]:
        for change in plan.changes:
            journal.apply(change, self.made.folders)
        if self.is_recorded:
            journal.remove(record_path(self.agent.name, self.data_dir), self.made.folders)
        return []


def _is_same(left: str | None, before: str) -> bool:
    """Whether only the formatting has changed."""
    try:
        return bool(json.loads(left or "{}") == json.loads(before or "{}"))
    except ValueError:
        return left == before


def record_path(agent: str, data_dir: Path) -> Path:
    return data_dir / f"install-{agent}.json"


class FileInstaller(Struct, frozen=True):
    agent: Agent

    def connections(self, data_dir: Path, program: str | None) -> list[FileConnection]:
        """The one of this data directory, or what the agent's files show. Raises ClaudeMemError."""
        parts, made = self._parts(data_dir), load_record(record_path(self.agent.name, data_dir))
        if made is not None:
            return [FileConnection(self.agent, parts, made, data_dir, True, program=program)]
        where = [part.data_dir_in(text) for part in parts if (text := _named_text(part.path)) is not None]
        found = next((each for each in where if each is not None), None)
        if found is None:
            return []
        there = Path(found) if found else Path.home() / ".claude-mem"
        recorded = load_record(record_path(self.agent.name, there))
        made = recorded or InstallRecord(False, USER, str(parts[0].path.parent))
        return [
            FileConnection(self.agent, self._parts(there), made, there, recorded is not None, program=program)
        ]

    def prepare(self, data_dir: Path, program: str | None, wanted: InstallOptions) -> Installation:
        parts = self._parts(data_dir)
        old = [
            (each, each.undo_plan())
            for each in self.connections(data_dir, program)
            if each.data_dir != data_dir
        ]
        left = {change.path: change.after for _, undo in old for change in undo.changes}

        def read(path: Path) -> str | None:
            return left[path] if path in left else read_text(path)

        plan = Plan(_missing(parts, read, wanted), notes=tuple(_warnings(parts, read)))

        def connect(journal: Journal) -> None:
            for each, undo in old:
                each.disconnect(journal, undo)
            record = record_path(self.agent.name, data_dir)
            made = load_record(record) or InstallRecord(False, USER, str(parts[0].path.parent))
            for path in (record, *(change.path for change in plan.changes)):
                made = made.with_folders(path)
            for change in plan.changes:
                saved = SavedText(_before(change, parts, made), change.after)
                made = replace(made, files={**made.files, str(change.path): saved})
            journal.write(record, made.as_text())
            for change in plan.changes:
                journal.apply(change, ())

        return Installation(old, plan, "", self.agent.installed_at(), connect)

    def _parts(self, data_dir: Path) -> tuple[FilePart, ...]:
        is_default = data_dir == Path.home() / ".claude-mem"
        assert self.agent.parts is not None
        return tuple(self.agent.parts(launcher.this_machine(None if is_default else str(data_dir))))


def _missing(
    parts: Sequence[FilePart], read: Callable[[Path], str | None], wanted: InstallOptions | None = None
) -> tuple[Change, ...]:
    """What an install would change."""
    new = dict(wanted.new_files) if wanted else {}
    changes = [Change(path, read(path), text) for path, text in new.items()]
    for part in parts:
        before = read(part.path)
        changes.append(Change(part.path, before, part.with_us(before or ""), part.executable))
    return tuple(each for each in changes if each.before != each.after)


def _warnings(parts: Sequence[FilePart], read: Callable[[Path], str | None]) -> list[str]:
    """About the files as an install leaves them."""
    return [text for part in parts for text in part.warnings(part.with_us(read(part.path) or ""))]


def _named_text(path: Path) -> str | None:
    """The file's text, if it contains one of our entries; otherwise None."""
    try:
        there = path.read_bytes() if path.is_file() else b""
    except FileNotFoundError:
        return None
    return read_text(path) if launcher.is_named_in(there.decode("latin-1")) else None


def _before(change: Change, parts: Sequence[FilePart], made: InstallRecord) -> str | None:
    """What a file held without us: an earlier install's record says it, which may be gone."""
    earlier = made.files.get(str(change.path))
    if earlier and earlier.after == change.before:
        return earlier.before
    part = next((each for each in parts if each.path == change.path), None)
    if part is None or change.before is None or part.data_dir_in(change.before) is None:
        return change.before
    return _as_saved(part.without_us(change.before), earlier)


def _as_saved(left: str | None, saved: SavedText | None) -> str | None:
    """A text without us, as it was written before us if it says the same."""
    is_same = saved is not None and saved.before is not None and _is_same(left, saved.before)
    return saved.before if saved and is_same else left
