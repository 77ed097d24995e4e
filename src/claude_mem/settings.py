"""One frozen Settings, and the only place that reads it from the environment and `settings.json`.

Each setting is named once, in SETTINGS, with what it means and what is allowed; the docs are made of it.
(A hook cannot afford this module. What it needs of the user's choices the worker writes into the spool's
ledger, or `capture/careful.py` reads under the same names.)
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from claude_mem.capture import ledger, places
from claude_mem.model.errors import SettingsError

Parse = Callable[[object], Any]
Verbosity = Literal["minimal", "normal", "verbose"]


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    field: str
    meaning: str
    allowed: str
    parse: Parse


@dataclass(frozen=True, slots=True)
class Settings:
    data_dir: Path
    worker_port: int = 37777
    spool_max_files: int = ledger.MOST_FILES
    spool_max_bytes: int = ledger.MOST_BYTES
    skip_tools: frozenset[str] = frozenset(
        {"ListMcpResourcesTool", "SlashCommand", "Skill", "TodoWrite", "AskUserQuestion"}
    )
    secret_patterns: tuple[tuple[str, str], ...] = ()
    exclude_paths: tuple[str, ...] = ()
    log_level: str = "INFO"
    provider: str = "auto"
    model: str | None = None
    summary_model: str | None = None
    base_url: str | None = None
    api_key: str | None = None
    claude_path: str | None = None
    verbosity: Verbosity = "normal"
    mode: str = "code"
    language: str | None = None
    daily_tokens: int = 2_000_000
    session_tokens: int = 1_000_000
    daily_usd: float = 2.0
    session_usd: float = 1.0
    delete_timeout_ms: int = 5_000

    def place(self, name: str) -> Path:
        """Where something of `capture.places` lies."""
        return self.data_dir / name


def _integer(low: int, high: int) -> Parse:
    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise TypeError
        number = int(value)
        if not low <= number <= high:
            raise ValueError
        return number

    return parse


def _words(value: object) -> tuple[str, ...]:
    """A JSON list of strings, or one string with commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise TypeError
    return tuple(part.strip() for part in parts if part.strip())


def _patterns(value: object) -> tuple[tuple[str, str], ...]:
    table = json.loads(value) if isinstance(value, str) else value
    if not isinstance(table, dict):
        raise TypeError
    for pattern in table.values():
        re.compile(pattern)
    return tuple(table.items())


def _one_of(*allowed: str) -> Parse:
    def parse(value: object) -> str:
        if value not in allowed:
            raise ValueError
        return str(value)

    return parse


def _amount(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    number = float(value)
    if not 0 <= number <= 1_000_000:
        raise ValueError
    return number


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        raise TypeError
    return value.strip() or None


def _url(value: object) -> str | None:
    text = _text(value)
    if text is not None and not re.match(r"https?://[^/\s]+", text):
        raise ValueError
    return text


SETTINGS = (
    Setting(
        "CLAUDE_MEM_WORKER_PORT",
        "worker_port",
        "The worker's port on 127.0.0.1; if it is taken, the next free one.",
        "a whole number from 1024 to 65535",
        _integer(1024, 65535),
    ),
    Setting(
        "CLAUDE_MEM_SPOOL_MAX_FILES",
        "spool_max_files",
        "How many events may wait in the spool; past it the newest is dropped and counted.",
        "a whole number from 100 to 10000000",
        _integer(100, 10_000_000),
    ),
    Setting(
        "CLAUDE_MEM_SPOOL_MAX_BYTES",
        "spool_max_bytes",
        "How many bytes may wait in the spool.",
        "a whole number from 1048576 (1 MiB) to 1099511627776 (1 TiB)",
        _integer(1 << 20, 1 << 40),
    ),
    Setting(
        "CLAUDE_MEM_SKIP_TOOLS",
        "skip_tools",
        "Tools whose uses are not worth remembering.",
        "a list of tool names, or one string with commas",
        lambda value: frozenset(_words(value)),
    ),
    Setting(
        "CLAUDE_MEM_SECRET_PATTERNS",
        "secret_patterns",
        "Further secrets to redact: names and regular expressions. Only in settings.json.",
        'an object such as {"employee-id": "E[0-9]{6}"}',
        _patterns,
    ),
    Setting(
        "CLAUDE_MEM_EXCLUDE_PATHS",
        "exclude_paths",
        "Further files whose contents are never recorded, as globs. Only in settings.json.",
        'a list such as ["*.secret", "**/vault/*"]',
        _words,
    ),
    Setting(
        "CLAUDE_MEM_LOG_LEVEL",
        "log_level",
        "How much the worker writes to its log.",
        "DEBUG, INFO, WARNING or ERROR",
        _one_of("DEBUG", "INFO", "WARNING", "ERROR"),
    ),
    Setting(
        "CLAUDE_MEM_PROVIDER",
        "provider",
        "Who turns events into memory. auto: claude if its command is there and logged in, anthropic or "
        "openai if a key or an address is set, else offline, which needs no model.",
        "auto, claude, anthropic, openai or offline",
        _one_of("auto", "claude", "anthropic", "openai", "offline"),
    ),
    Setting(
        "CLAUDE_MEM_MODEL",
        "model",
        "The model that observes; without it, the provider's cheap one.",
        "a model's name",
        _text,
    ),
    Setting(
        "CLAUDE_MEM_SUMMARY_MODEL",
        "summary_model",
        "The model for batches that end a turn; without it, the one that observes.",
        "a model's name",
        _text,
    ),
    Setting(
        "CLAUDE_MEM_BASE_URL",
        "base_url",
        "The address of an OpenAI-compatible endpoint, or of another one that speaks Anthropic's protocol.",
        "an address such as http://127.0.0.1:11434/v1",
        _url,
    ),
    Setting(
        "CLAUDE_MEM_API_KEY",
        "api_key",
        "The provider's key; without it ANTHROPIC_API_KEY or OPENAI_API_KEY.",
        "a key",
        _text,
    ),
    Setting(
        "CLAUDE_CODE_PATH",
        "claude_path",
        "Where the claude command is, if not on the PATH.",
        "a path",
        _text,
    ),
    Setting(
        "CLAUDE_MEM_VERBOSITY",
        "verbosity",
        "How much is worth remembering.",
        "minimal, normal or verbose",
        _one_of("minimal", "normal", "verbose"),
    ),
    Setting(
        "CLAUDE_MEM_MODE",
        "mode",
        "What to look for: `code`, or a file of yours in modes/ in the data directory.",
        "the name of a mode",
        _text,
    ),
    Setting(
        "CLAUDE_MEM_LANGUAGE",
        "language",
        "The language memory is written in; without it, the model's choice.",
        "a language's name, such as Deutsch",
        _text,
    ),
    Setting(
        "CLAUDE_MEM_DAILY_TOKENS",
        "daily_tokens",
        "How many tokens a day may cost; past it the offline observer takes over. 0: no limit.",
        "a whole number from 0 to 1000000000",
        _integer(0, 1_000_000_000),
    ),
    Setting(
        "CLAUDE_MEM_SESSION_TOKENS",
        "session_tokens",
        "The same for one session.",
        "a whole number from 0 to 1000000000",
        _integer(0, 1_000_000_000),
    ),
    Setting(
        "CLAUDE_MEM_DAILY_USD",
        "daily_usd",
        "How many US dollars a day may cost, where prices are known. 0: no limit.",
        "a number from 0 to 1000000",
        _amount,
    ),
    Setting(
        "CLAUDE_MEM_SESSION_USD",
        "session_usd",
        "The same for one session.",
        "a number from 0 to 1000000",
        _amount,
    ),
    Setting(
        "CLAUDE_MEM_DELETE_TIMEOUT",
        "delete_timeout_ms",
        "How many milliseconds an aborted session's work may take to end.",
        "a whole number from 0 to 60000",
        _integer(0, 60_000),
    ),
)
FILE_ONLY = ("CLAUDE_MEM_SECRET_PATTERNS", "CLAUDE_MEM_EXCLUDE_PATHS")
"""The hook reads these two from the file alone."""

SWITCHES = ("CLAUDE_MEM_DATA_DIR", "CLAUDE_MEM_OFF", "CLAUDE_MEM_OBSERVER")
"""Variables of ours that are no settings."""

_BY_KEY = {setting.key: setting for setting in SETTINGS}


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in force: defaults, then `settings.json`, then the environment. Raises SettingsError."""
    environ = os.environ if environ is None else environ
    data_dir = data_directory(environ)
    chosen: dict[str, Any] = {}
    file = data_dir / places.SETTINGS
    for key, value in _read(file).items():
        chosen |= _parsed(_known(key, value, str(file)), value, str(file))
    for key, value in environ.items():
        if key in _BY_KEY or (key.startswith("CLAUDE_MEM_") and key not in SWITCHES):
            chosen |= _parsed(_known(key, value, "the environment"), value, "the environment")
    return Settings(data_dir=data_dir, **chosen)


def data_directory(environ: Mapping[str, str] | None = None) -> Path:
    environ = os.environ if environ is None else environ
    as_bytes = {os.fsencode(key): os.fsencode(value) for key, value in environ.items()}
    return Path(os.fsdecode(places.data_directory(as_bytes)))


def _read(file: Path) -> dict[str, object]:
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
        raise SettingsError(key, value, "only these settings: " + ", ".join(_BY_KEY), where)
    if key in FILE_ONLY and where == "the environment":
        raise SettingsError(key, value, "only in settings.json", where)
    return _BY_KEY[key]


def _parsed(setting: Setting, value: object, where: str) -> dict[str, Any]:
    try:
        return {setting.field: setting.parse(value)}
    except (ValueError, TypeError, re.error) as error:
        raise SettingsError(setting.key, value, setting.allowed, where) from error
