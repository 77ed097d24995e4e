"""Where things lie on this machine: the client, its settings, our interpreter and the texts of the plugin."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import claude_mem
from claude_mem import settings
from claude_mem.agents.claude_code import hooks
from claude_mem.agents.claude_code.hooks import Machine
from claude_mem.cli import loading
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.settings import Settings

SCOPES = ("user", "project")
PACKAGE = Path(claude_mem.__file__).resolve().parent
PLUGIN = "claude-mem"
"""Beside the client's settings, not with our data: who deletes those must still be told at the next start."""


@dataclass(frozen=True, slots=True)
class Place:
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


def chosen() -> Settings:
    """Raises ClaudeMemError where another program's database lies in our place."""
    from claude_mem import wiring

    data_dir = settings.data_directory().absolute()
    if problem := wiring.foreign(Settings(data_dir=data_dir)):
        raise ClaudeMemError(
            f"{problem}\nIt is left alone. Give this one a directory of its own:\n"
            "  export CLAUDE_MEM_DATA_DIR=~/.claude-mem-py\n  claude-mem install"
        )
    return replace(loading.load(), data_dir=data_dir)


def chosen_anyway() -> Settings:
    """Whatever lies there: who wants to be rid of us must get it."""
    return replace(settings.load(), data_dir=settings.data_directory().absolute())


def find(chosen: Settings, scope: str) -> Place:
    """As it is from here."""
    config = os.environ.get("CLAUDE_CONFIG_DIR")
    return of(chosen, scope, str(Path(config).absolute()) if config else None)


def of(chosen: Settings, scope: str, config: str | None, folder: Path | None = None) -> Place:
    """That of an install which was perhaps made from another directory or environment than this."""
    home = Path(config) if config else Path.home() / ".claude"
    state = home / ".claude.json" if config else Path.home() / ".claude.json"
    folder = folder or (home if scope == "user" else Path.cwd() / ".claude")
    is_default = chosen.data_dir == Path.home() / ".claude-mem"
    return Place(
        scope=scope,
        folder=folder,
        servers=state if scope == "user" else folder.parent / ".mcp.json",
        marketplace=home / PLUGIN,
        record=chosen.place(paths.INSTALLED),
        machine=hooks.here(None if is_default else str(chosen.data_dir)),
        command=_command(chosen, is_default=is_default),
        client=_client(chosen, home),
        config=config,
    )


def texts() -> dict[str, str]:
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
