"""Where Claude Code keeps its settings, and the record of what an install changed in them."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field, to_builtins

import claude_mem
from claude_mem import settings
from claude_mem.agents import launcher
from claude_mem.agents.launcher import Machine
from claude_mem.cli import client
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.structs import replace
from claude_mem.settings import Settings

SCOPES = ("user", "project")
PACKAGE = Path(claude_mem.__file__).resolve().parent
PLUGIN = "claude-mem"
"""Beside the client's settings, not with our data: who deletes those must still be told at the next start."""


class ClientPaths(Struct, frozen=True):
    """One scope's files: the user's own, or one project's."""

    scope: str  # as the client calls it: user, project
    folder: Path  # holds settings.json, commands/ and skills/
    servers: Path  # the file with MCP servers
    marketplace: Path  # the plugin that is made for this machine
    record: Path
    machine: Machine
    command: str  # runs claude-mem in a shell
    client: str | None
    config: str | None  # CLAUDE_CONFIG_DIR, where the client keeps what is the user's

    @property
    def settings(self) -> Path:
        return self.folder / "settings.json"

    @property
    def client_serves(self) -> bool:
        """The client keeps the MCP servers of this scope in a file of its own."""
        return self.scope == "user" and self.client is not None


def load_settings() -> Settings:
    """Raises ClaudeMemError where another program's database lies in our place."""
    from claude_mem import wiring

    data_dir = settings.data_directory().absolute()
    if problem := wiring.foreign(Settings(data_dir=data_dir)):
        raise ClaudeMemError(
            f"{problem}\nIt was not changed. Use a separate directory:\n"
            "  export CLAUDE_MEM_DATA_DIR=~/.claude-mem-py\n  claude-mem install"
        )
    return replace(client.load_settings(), data_dir=data_dir)


def load_settings_leniently() -> Settings:
    """Whatever lies there: who wants to be rid of us must get it."""
    return replace(settings.load(), data_dir=settings.data_directory().absolute())


def place_here(chosen: Settings, scope: str) -> ClientPaths:
    """As it is from here."""
    config = os.environ.get("CLAUDE_CONFIG_DIR")
    return place_of(chosen, scope, str(Path(config).absolute()) if config else None)


def place_of(chosen: Settings, scope: str, config: str | None, folder: Path | None = None) -> ClientPaths:
    """That of an install which was perhaps made from another directory or environment than this."""
    home = Path(config) if config else Path.home() / ".claude"
    state = home / ".claude.json" if config else Path.home() / ".claude.json"
    folder = folder or (home if scope == "user" else Path.cwd() / ".claude")
    is_default = chosen.data_dir == Path.home() / ".claude-mem"
    return ClientPaths(
        scope=scope,
        folder=folder,
        servers=state if scope == "user" else folder.parent / ".mcp.json",
        marketplace=home / PLUGIN,
        record=chosen.place(paths.INSTALLED),
        machine=launcher.this_machine(None if is_default else str(chosen.data_dir)),
        command=_command(chosen, is_default=is_default),
        client=_client(chosen, home),
        config=config,
    )


def plugin_texts() -> dict[str, str]:
    """The plugin's texts: inside an installed package, beside `src` in a checkout."""
    inside = PACKAGE / "plugin"
    folder = inside if inside.is_dir() else PACKAGE.parents[1] / "plugin"
    return {
        str(path.relative_to(folder)): path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _command(chosen: Settings, *, is_default: bool) -> str:
    script = Path(sys.executable).with_name("claude-mem")
    words = [str(script)] if script.exists() else [sys.executable, "-m", "claude_mem"]
    return shlex.join(words if is_default else ["env", f"CLAUDE_MEM_DATA_DIR={chosen.data_dir}", *words])


def _client(chosen: Settings, home: Path) -> str | None:
    """The user's choice, the one on the PATH, or where the client's own installers put it."""
    if chosen.claude_path:
        return shutil.which(chosen.claude_path)
    usual = (home / "local/claude", Path.home() / ".local/bin/claude")
    return shutil.which("claude") or next((str(path) for path in usual if os.access(path, os.X_OK)), None)


VERSION = 1


class FileChange(Struct, frozen=True):
    before: str | None  # None: there was no such file
    after: str | None


class Record(Struct, frozen=True):
    plugin: bool
    scope: str
    folder: str
    config: str | None = None  # CLAUDE_CONFIG_DIR, if it was set
    files: Mapping[str, FileChange] = field(default_factory=dict)
    folders: tuple[str, ...] = ()  # that had to be made
    server: Any = None  # the MCP server by our name that was there before, if the client keeps it
    version: int = VERSION

    @property
    def mode(self) -> str:
        return f"as a plugin ({self.scope})" if self.plugin else f"by settings ({self.scope})"

    def is_like(self, other: Record) -> bool:
        return (self.plugin, self.scope, self.folder) == (other.plugin, other.scope, other.folder)

    def with_file(self, path: Path, before: str | None, after: str | None) -> Record:
        """A file that an earlier install changed, and nobody since, keeps what was there before that one."""
        earlier = self.files.get(str(path))
        kept = FileChange(earlier.before if earlier and earlier.after == before else before, after)
        return replace(self, files={**self.files, str(path): kept})

    def with_folders(self, path: Path) -> Record:
        made = [str(folder) for folder in path.parents if not folder.exists()]
        return replace(self, folders=(*self.folders, *(each for each in made if each not in self.folders)))


def new_record(place: ClientPaths, *, plugin: bool) -> Record:
    return Record(plugin, place.scope, str(place.folder), place.config)


def load_record(path: Path) -> Record | None:
    try:
        found = json.loads(path.read_text("utf-8"))
        kept = {name: FileChange(**file) for name, file in found.pop("files").items()}
        return Record(**found | {"folders": tuple(found["folders"])}, files=kept)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ClaudeMemError(
            f"{path}, the record of what an install changed, cannot be read ({error}). "
            "Move it away; `claude-mem uninstall` then removes what it recognizes as its own."
        ) from error


def record_text(record: Record) -> str:
    return json.dumps(to_builtins(record), indent=1)
