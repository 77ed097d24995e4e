"""Declares Claude Code as an agent (`agents.catalog`), with the paths of its settings.

Hooks use its event format, so it needs no dialect.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from claude_mem.agents import CLAUDE_CODE, launcher
from claude_mem.agents.catalog import Agent
from claude_mem.agents.claude_code import transcripts
from claude_mem.agents.claude_code.registration import hooks
from claude_mem.agents.claude_code.transcript_tail import words_of
from claude_mem.agents.file_changes import InstallRecord, run_program
from claude_mem.hook.paths import INSTALLED

SCOPES = ("user", "project")
PACKAGE = Path(__file__).resolve().parents[2]


class InstallPaths(Struct, frozen=True):
    """The files of one scope: the user's own, or one project's."""

    scope: str
    folder: Path  # holds settings.json, commands/ and skills/
    config: str | None  # CLAUDE_CONFIG_DIR
    data_dir: Path
    program: str | None  # CLAUDE_CODE_PATH

    @property
    def settings(self) -> Path:
        return self.folder / "settings.json"

    @property
    def servers(self) -> Path:
        """The file with MCP servers."""
        if self.scope == "project":
            return self.folder.parent / ".mcp.json"
        return (Path(self.config) if self.config else Path.home()) / ".claude.json"

    @property
    def home(self) -> Path:
        return _home(self.config)

    @property
    def marketplace(self) -> Path:
        """The marketplace's folder, next to the client's settings and not in our data directory: after that
        is deleted, hooks must still be able to report it."""
        return self.home / "claude-mem"

    @property
    def record(self) -> Path:
        return self.data_dir / INSTALLED

    @property
    def client(self) -> str | None:
        """The user's choice, the one on the PATH, or where the client's own installers put it."""
        if self.program:
            return shutil.which(self.program)
        usual = (self.home / "local/claude", Path.home() / ".local/bin/claude")
        return shutil.which("claude") or next((str(path) for path in usual if os.access(path, os.X_OK)), None)

    @property
    def client_owns_servers(self) -> bool:
        """Whether the client stores this scope's servers in a file that only its own command may change."""
        return self.scope == "user" and self.client is not None

    @property
    def machine(self) -> launcher.Machine:
        return launcher.this_machine(None if self._is_default else str(self.data_dir))

    @property
    def command(self) -> str:
        """Runs claude-mem in a shell."""
        script = Path(sys.executable).with_name("claude-mem")
        words = [str(script)] if script.exists() else [sys.executable, "-m", "claude_mem"]
        place = [] if self._is_default else ["env", f"CLAUDE_MEM_DATA_DIR={self.data_dir}"]
        return shlex.join([*place, *words])

    @property
    def _is_default(self) -> bool:
        return self.data_dir == Path.home() / ".claude-mem"

    def run(self, words: Sequence[str]) -> str | None:
        """Runs a command of Claude Code's."""
        if self.scope == "project" and not self.folder.parent.is_dir():
            return f"{self.folder.parent} is gone"
        environ = {name: value for name, value in os.environ.items() if name != "CLAUDE_CONFIG_DIR"}
        environ |= {"CLAUDE_MEM_OFF": "1"} | ({"CLAUDE_CONFIG_DIR": self.config} if self.config else {})
        cwd = self.folder.parent if self.scope == "project" else None
        return run_program([self.client or "claude", *words[1:]], cwd, environ)


def locate(data_dir: Path, program: str | None, scope: str) -> InstallPaths:
    """As seen from this directory and environment."""
    given = os.environ.get("CLAUDE_CONFIG_DIR")
    config = str(Path(given).absolute()) if given else None
    folder = _home(config) if scope == "user" else Path.cwd() / ".claude"
    return InstallPaths(scope, folder, config, data_dir, program)


def _home(config: str | None) -> Path:
    return Path(config) if config else Path.home() / ".claude"


OF_OTHERS = (".codex-plugin/", ".cursor-plugin/", "plugin.json", "mcp.json", "hooks/none.json")
"""The parts of the plugin's folder for Codex, Cursor and Copilot CLI."""


def plugin_texts() -> dict[str, str]:
    """The plugin's texts: inside an installed package, beside `src` in a checkout."""
    inside = PACKAGE / "plugin"
    folder = inside if inside.is_dir() else PACKAGE.parents[1] / "plugin"
    files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {name: path.read_text("utf-8") for name, path in files.items() if not name.startswith(OF_OTHERS)}


def new_record(place: InstallPaths, *, plugin: bool) -> InstallRecord:
    return InstallRecord(plugin, place.scope, str(place.folder), place.config)


AGENT = Agent(
    CLAUDE_CODE,
    "claude",
    lambda: _home(os.environ.get("CLAUDE_CONFIG_DIR")),
    lambda machine: {"hooks": hooks(machine)},
    transcripts=transcripts,
    scopes=SCOPES,
    program_setting="claude_path",
    words_of=words_of,
)
