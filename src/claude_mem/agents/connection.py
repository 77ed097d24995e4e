"""A connection of claude-mem to an agent: how an install makes it, and an uninstall undoes it to the byte.

Agents that are connected by files alone say what goes into each of them (`file_parts`), and `FileInstaller`
does the rest. Claude Code also has a program that changes its files (`claude_code/installation.py`).
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from claude_mem.agents import launcher
from claude_mem.agents.file_changes import (
    Change,
    InstallRecord,
    Journal,
    Plan,
    ReadText,
    SavedText,
    Step,
    WithoutUs,
    has_events,
    load_record,
    read_text,
)
from claude_mem.hook import paths

if TYPE_CHECKING:
    from claude_mem.agents.catalog import Agent
    from claude_mem.agents.file_parts import FilePart

USER = "user"


class InstallOptions(Struct, frozen=True):
    """How the user wants to be connected."""

    scope: str
    plugin: bool = True
    take_over: bool = True  # turn another claude-mem off
    status_line: bool = False
    new_files: tuple[tuple[Path, str], ...] = ()
    """Of the data directory: written with the connection, and removed with it."""


@dataclass(frozen=True)
class Connection(ABC):
    data_dir: Path
    program: str | None  # the agent's, if the user chose one
    record: Path
    installed: InstallRecord  # as it was recorded, or as the agent's files show it
    is_recorded: bool

    @property
    @abstractmethod
    def how(self) -> str:
        """In words: `as a plugin (user)`."""

    @property
    @abstractmethod
    def is_current(self) -> bool:
        """An install would change nothing."""

    @property
    def warnings(self) -> Sequence[str]:
        """What does not work, and what the user can do about it."""
        return ()

    @property
    def why_left(self) -> str | None:
        """What the user has to do first, if a repair cannot fix it."""
        return None

    @property
    def folders(self) -> Sequence[str]:
        """That go with the last file in them."""
        return self.installed.folders

    @abstractmethod
    def without_us(self) -> Mapping[Path, WithoutUs]:
        """Of each file that we have a part in."""

    def undo_steps(self) -> tuple[Step, ...]:
        """What the agent's program has to do."""
        return ()

    def undo_plan(self) -> Plan:
        """What restores the state before the install; later changes stay."""
        changes, notes, restorers = [], [], self.without_us()
        for path in dict.fromkeys([*restorers, *map(Path, self.installed.files)]):
            now, saved = read_text(path), self.installed.files.get(str(path))
            if now is None or (path == self.data_dir / paths.SETTINGS and has_events(self.data_dir)):
                continue
            if path in restorers:
                changes.append(Change(path, now, restorers[path](now)))
            elif saved and now == saved.after:
                changes.append(Change(path, now, saved.before))
            else:
                notes.append(f"{path} was changed after the installation, so it was left alone.")
        changed = tuple(each for each in changes if each.before != each.after)
        return Plan(changed, self.undo_steps(), tuple(notes), self.installed.restores(changed))

    def disconnect(self, journal: Journal, plan: Plan) -> list[str]:
        """Disconnects the agent; returns what the agent's program refused to do."""
        folders = self.folders
        for change in plan.changes:
            journal.apply(change, folders)
        if self.is_recorded:
            journal.remove(self.record, folders)
        return []


class Installation(Struct, frozen=True):
    """What an install would change."""

    old: Sequence[tuple[Connection, Plan]]  # connections that are removed first
    plan: Plan
    replaces: str  # another claude-mem that is turned off, in words
    client: str | None  # the agent's program, if it is installed
    connect: Callable[[Journal], None]  # raises ClaudeMemError if the program refuses


class Installer(Protocol):
    """`FileInstaller`, or a module. `program`: the agent's, if the user chose one. Raises ClaudeMemError."""

    def connections(self, data_dir: Path, program: str | None) -> Sequence[Connection]: ...

    def prepare(self, data_dir: Path, program: str | None, options: InstallOptions) -> Installation: ...


def record_install(
    journal: Journal,
    record: Path,
    installed: InstallRecord,
    changes: Sequence[Change],
    without_us: Mapping[Path, WithoutUs],
) -> InstallRecord:
    """Before anything is changed, writes down what each file held without us."""
    for path in (record, *(change.path for change in changes)):
        installed = installed.with_folders(path)
    for change in changes:
        installed = installed.with_change(change, without_us.get(change.path))
    journal.write(record, installed.as_text())
    return installed


@dataclass(frozen=True)
class FileConnection(Connection):
    parts: Sequence[FilePart]

    @property
    def how(self) -> str:
        return f"by {self.parts[0].path}"

    @property
    def is_current(self) -> bool:
        return not _missing(self.parts, read_text)

    @property
    def warnings(self) -> Sequence[str]:
        return _warnings(self.parts, read_text)

    def without_us(self) -> Mapping[Path, WithoutUs]:
        return _without_us(self.parts, self.installed)


class FileInstaller(Struct, frozen=True):
    agent: Agent

    def connections(self, data_dir: Path, program: str | None) -> list[FileConnection]:
        """The one of this data directory, or what the agent's files show. Raises ClaudeMemError."""
        if self._record(data_dir).is_file():
            return [self._connection(data_dir, program)]
        texts = ((part, _named_text(part.path)) for part in self._parts(data_dir))
        where = (part.data_dir_in(text) for part, text in texts if text is not None)
        found = next((each for each in where if each is not None), None)
        if found is None:
            return []
        return [self._connection(Path(found) if found else Path.home() / ".claude-mem", program)]

    def prepare(self, data_dir: Path, program: str | None, options: InstallOptions) -> Installation:
        parts, known = self._parts(data_dir), self.connections(data_dir, program)
        old = [(each, each.undo_plan()) for each in known if each.data_dir != data_dir]
        left = {change.path: change.after for _, undo in old for change in undo.changes}

        def read(path: Path) -> str | None:
            return left[path] if path in left else read_text(path)

        new = [Change(path, read(path), text) for path, text in options.new_files]
        missing = (*(each for each in new if each.before != each.after), *_missing(parts, read))

        def connect(journal: Journal) -> None:
            for each, undo in old:
                each.disconnect(journal, undo)
            record = self._record(data_dir)
            installed = load_record(record) or _new_record(parts)
            record_install(journal, record, installed, missing, _without_us(parts, installed))
            for change in missing:
                journal.apply(change, ())

        plan = Plan(missing, notes=tuple(_warnings(parts, read)))
        return Installation(old, plan, "", self.agent.installed_at(), connect)

    def _connection(self, data_dir: Path, program: str | None) -> FileConnection:
        parts, record = self._parts(data_dir), self._record(data_dir)
        installed = load_record(record)
        is_recorded = installed is not None
        return FileConnection(data_dir, program, record, installed or _new_record(parts), is_recorded, parts)

    def _record(self, data_dir: Path) -> Path:
        return data_dir / f"install-{self.agent.name}.json"

    def _parts(self, data_dir: Path) -> Sequence[FilePart]:
        is_default = data_dir == Path.home() / ".claude-mem"
        assert self.agent.parts is not None
        return self.agent.parts(launcher.this_machine(None if is_default else str(data_dir)))


def _new_record(parts: Sequence[FilePart]) -> InstallRecord:
    return InstallRecord(False, USER, str(parts[0].path.parent))


def _missing(parts: Sequence[FilePart], read: ReadText) -> tuple[Change, ...]:
    """What an install would change."""
    there = [(part, read(part.path)) for part in parts]
    changes = (Change(part.path, text, part.with_us(text or ""), part.executable) for part, text in there)
    return tuple(each for each in changes if each.before != each.after)


def _warnings(parts: Sequence[FilePart], read: ReadText) -> list[str]:
    """About the files as an install leaves them."""
    return [text for part in parts for text in part.warnings(part.with_us(read(part.path) or ""))]


def _named_text(path: Path) -> str | None:
    """The file's text, if it contains one of our entries; otherwise None."""
    try:
        there = path.read_bytes() if path.is_file() else b""
    except FileNotFoundError:
        return None
    return read_text(path) if launcher.is_named_in(there.decode("latin-1")) else None


def _without_us(parts: Sequence[FilePart], installed: InstallRecord) -> dict[Path, WithoutUs]:
    return {
        each.path: partial(restored, each.without_us, installed.files.get(str(each.path))) for each in parts
    }


def restored(without_us: WithoutUs, saved: SavedText | None, now: str) -> str | None:
    """The text without us: to the byte as before, if it says the same as then."""
    if saved and now == saved.after:
        return saved.before
    left = without_us(now)
    return saved.before if saved and saved.before is not None and _is_same(left, saved.before) else left


def _is_same(left: str | None, before: str) -> bool:
    """Whether only the formatting has changed."""
    try:
        return bool(json.loads(left or "{}") == json.loads(before or "{}"))
    except ValueError:
        return left == before
