"""One frozen Settings, and the only place that reads it from the environment and `settings.json`.

Each setting is named once, in `table`. (A hook cannot afford this package. What it needs of the user's
choices the worker writes into the spool's ledger, or `capture/careful.py` reads under the same names.)
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from claude_mem.capture import ledger, places
from claude_mem.model.errors import SettingsError
from claude_mem.settings import neighbour
from claude_mem.settings.table import BORROWED, FILE_ONLY, SETTINGS, SWITCHES, Setting

__all__ = ["SETTINGS", "Setting", "Settings", "data_directory", "load", "read_file"]

Verbosity = Literal["minimal", "normal", "verbose"]
_BY_KEY = {setting.key: setting for setting in SETTINGS}


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path
    worker_port: int = 37777
    spool_max_files: int = ledger.MOST_FILES
    spool_max_bytes: int = ledger.MOST_BYTES
    skip_tools: frozenset[str] = frozenset({"ListMcpResourcesTool", "SlashCommand", "Skill"})
    secret_patterns: tuple[tuple[str, str], ...] = ()
    exclude_paths: tuple[str, ...] = ()
    excluded_projects: tuple[str, ...] = ()
    log_level: str = "INFO"
    provider: str = "auto"
    model: str | None = None
    summary_model: str | None = None
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    claude_path: str | None = None
    verbosity: Verbosity = "normal"
    mode: str = "code"
    language: str | None = None
    daily_tokens: int = 2_000_000
    session_tokens: int = 1_000_000
    daily_usd: float = 2.0
    session_usd: float = 1.0
    vectors: Literal["builtin", "chroma", "off"] = "builtin"
    chroma_url: str | None = None
    context_characters: int = 9_500
    context_tokens: int = 3_000
    prompt_characters: int = 2_400
    evidence_days: int = 365
    evidence_mb: int = 2_000
    delete_timeout_ms: int = 5_000
    watch: tuple[str, ...] = ()
    anthropic_api_key: str | None = field(default=None, repr=False)
    anthropic_base_url: str | None = None
    openai_api_key: str | None = field(default=None, repr=False)
    openai_base_url: str | None = None
    passed_over: tuple[str, ...] = ()  # keys of another program, with which settings.json is shared

    @property
    def database(self) -> Path:
        """Where ours lies. Only to be asked before it is opened."""
        return neighbour.database(self.data_dir)

    def place(self, name: str) -> Path:
        """Where something of `capture.places` lies."""
        return self.data_dir / name


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in force: defaults, then `settings.json`, then the environment. Raises SettingsError."""
    environ = os.environ if environ is None else environ
    data_dir = data_directory(environ)
    chosen: dict[str, Any] = {}
    file = data_dir / places.SETTINGS
    passed_over = []
    for key, value in read_file(file).items():
        try:
            chosen |= _parsed(_known(key, value, str(file)), value, str(file))
        except SettingsError:
            if not neighbour.is_shared(data_dir):
                raise
            passed_over.append(key)
        else:
            # Any name will do until the observer looks for its file, and then it does not start.
            if key == "CLAUDE_MEM_MODE" and neighbour.has_mode_of_its_own(data_dir, chosen["mode"]):
                del chosen["mode"]
                passed_over.append(key)
    for key, value in environ.items():
        if key in _BY_KEY or (key.startswith("CLAUDE_MEM_") and key not in SWITCHES):
            if key not in _BY_KEY and neighbour.is_shared(data_dir):
                passed_over.append(key)
            else:
                chosen |= _parsed(_known(key, value, "the environment"), value, "the environment")
    chosen |= {name: environ[variable] for variable, name in BORROWED.items() if environ.get(variable)}
    return Settings(data_dir=data_dir, **chosen, passed_over=tuple(passed_over))


def data_directory(environ: Mapping[str, str] | None = None) -> Path:
    environ = os.environ if environ is None else environ
    as_bytes = {os.fsencode(key): os.fsencode(value) for key, value in environ.items()}
    return Path(os.fsdecode(places.data_directory(as_bytes)))


def read_file(file: Path) -> dict[str, object]:
    """What `settings.json` holds; {} when there is none. Raises SettingsError."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError("the file", str(error), "readable JSON", str(file)) from error
    try:
        table = json.loads(text)
    except ValueError as error:
        raise SettingsError("the file", str(error), "one JSON object", str(file)) from error
    if not isinstance(table, dict):
        raise SettingsError("the file", type(table).__name__, "one JSON object", str(file))
    return table


def _known(key: str, value: object, where: str) -> Setting:
    if key not in _BY_KEY:
        # Its value is not shown: it may be a key under a name we do not know.
        raise SettingsError(key, "(not a setting)", "only these settings: " + ", ".join(_BY_KEY), where)
    if key in FILE_ONLY and where == "the environment":
        raise SettingsError(key, value, "only in settings.json", where)
    return _BY_KEY[key]


def _parsed(setting: Setting, value: object, where: str) -> dict[str, Any]:
    try:
        return {setting.field: setting.parse(value)}
    except (ValueError, TypeError, re.error):
        shown = "(hidden)" if setting.key.endswith("_KEY") else value
        raise SettingsError(setting.key, shown, setting.allowed, where) from None
