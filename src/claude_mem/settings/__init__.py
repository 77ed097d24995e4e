"""One frozen Settings, and the only place that reads it from the environment and `settings.json`.

Each setting is named once, in `table`. Nothing that is set wrongly stops anybody: it is left out, something
safe holds instead, and a warning says so. (A hook cannot afford this package. What it needs of the user's
choices the worker writes into the spool's ledger, or `capture/rules.py` reads under the same names.)
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from claude_mem.capture import ledger, places, rules
from claude_mem.model.errors import SettingsError
from claude_mem.settings import neighbour, warning
from claude_mem.settings.table import BORROWED, FILE_ONLY, SETTINGS, SWITCHES, Setting
from claude_mem.settings.warning import SettingWarning

__all__ = [
    "SETTINGS",
    "Setting",
    "SettingWarning",
    "Settings",
    "data_directory",
    "default",
    "is_blank",
    "load",
    "read_file",
    "resolved",
]

Verbosity = Literal["minimal", "normal", "verbose"]
_BY_KEY = {setting.key: setting for setting in SETTINGS}
_FILE, _ENVIRONMENT = "settings.json", "the environment"


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
    warnings: tuple[SettingWarning, ...] = ()  # what was set, and does not hold

    @property
    def passed_over(self) -> tuple[str, ...]:
        """Keys that are no settings."""
        names = dict.fromkeys(each.key for each in self.warnings if each.kind != "bad")
        return tuple(name.encode("utf-8", "replace").decode() for name in names)

    @property
    def database(self) -> Path:
        """Where ours lies. Only to be asked before it is opened."""
        return neighbour.database(self.data_dir)

    def place(self, name: str) -> Path:
        """Where something of `capture.places` lies."""
        return self.data_dir / name


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """The settings in force: defaults, then `settings.json`, then the environment. Raises nothing."""
    environ = os.environ if environ is None else environ
    data_dir = data_directory(environ)
    table, problem = _read(data_dir / places.SETTINGS)
    chosen, warned = resolved(table, environ, unreadable=problem is not None)
    if problem:
        unasked = " No model is asked until it is corrected." if chosen["provider"] == "offline" else ""
        says = f"settings.json cannot be used ({problem}): defaults apply, and exclusions that can be read."
        says += unasked
        warned.insert(0, SettingWarning("bad", _FILE, says))
    chosen |= {name: environ[variable] for variable, name in BORROWED.items() if environ.get(variable)}
    return Settings(data_dir=data_dir, **chosen, warnings=tuple(warned))


def default(setting: Setting) -> Any:
    return _DEFAULTS[setting.field]


def is_blank(value: object) -> bool:
    """As if nobody had said."""
    return isinstance(value, str) and not value.strip()


def data_directory(environ: Mapping[str, str] | None = None) -> Path:
    environ = os.environ if environ is None else environ
    as_bytes = {os.fsencode(key): os.fsencode(value) for key, value in environ.items()}
    return Path(os.fsdecode(places.data_directory(as_bytes)))


def read_file(file: Path) -> dict[str, object]:
    """What `settings.json` holds; {} when there is none. Raises SettingsError."""
    table, problem = _read(file)
    if problem:
        raise SettingsError("the file", problem, "one JSON object", str(file))
    return table


def _read(file: Path) -> tuple[dict[str, object], str | None]:
    """What the file says, and why it cannot be used; then only what is excluded, as far as it can be read."""
    try:
        content = places.content(os.fsencode(file), places.MOST_SETTINGS + 1)
    except FileNotFoundError:
        return {}, None
    except OSError as error:
        return {}, error.strerror or str(error)
    table, problem = rules.table(content[: places.MOST_SETTINGS])
    if len(content) > places.MOST_SETTINGS:
        return {key: table[key] for key in FILE_ONLY if key in table}, "larger than 1 MiB"
    return table, problem


def _given(table: Mapping[str, object], environ: Mapping[str, str]) -> Iterator[tuple[str, str, object]]:
    """Where, which, what: the file first, for the environment comes before it."""
    for key, value in table.items():
        yield _FILE, key, value
    for key, text in environ.items():
        if key in _BY_KEY or (key.startswith(warning.PREFIX) and key not in SWITCHES):
            yield _ENVIRONMENT, key, text


def resolved(
    table: Mapping[str, object], environ: Mapping[str, str], *, unreadable: bool = False
) -> tuple[dict[str, Any], list[SettingWarning]]:
    """Fields of Settings and their values, and what is to be said of the rest. `unreadable`: the file says
    more than is in the table."""
    chosen: dict[str, Any] = {}
    warned: list[SettingWarning] = []
    wrong: list[tuple[Setting, str, object]] = []
    unsure = set(_BY_KEY) - set(FILE_ONLY) if unreadable else set()  # set to something nobody can read
    for where, key, value in _given(table, environ):
        setting = _BY_KEY.get(key)
        if setting is None or (key in FILE_ONLY and where == _ENVIRONMENT):
            if setting is None or not is_blank(value):
                warned.append(_useless(key, where, hint=len(warned) < warning.MOST_HINTS))
        elif setting.takes.readable:
            chosen[setting.field], lost = setting.takes.readable(value)
            if lost:
                warned.append(warning.unreadable_entries(setting, lost, len(chosen[setting.field])))
        else:
            try:
                parsed = setting.parse(value)
            except (ValueError, TypeError):
                if is_blank(value):
                    continue
                wrong.append((setting, where, value))
                unsure |= set() if value is None else {key}
                continue
            if parsed is not None:  # else blank
                unsure.discard(key)
                chosen[setting.field] = parsed
    _play_safe(chosen, unsure)
    for setting, where, value in wrong:
        warned.append(warning.bad(setting, value, where, _instead(setting, chosen)))
    return chosen, warned


def _play_safe(chosen: dict[str, Any], unsure: set[str]) -> None:
    """Where it is not known what the user wants, nothing is sent that they may want to stay here, and nothing
    is deleted that they may want to keep."""
    for key in unsure:
        if _BY_KEY[key].instead is not None:
            chosen[_BY_KEY[key].field] = _BY_KEY[key].instead
    if "CLAUDE_MEM_BASE_URL" in unsure and chosen.get("provider") != "claude":
        chosen["provider"] = "offline"  # it would go to the provider's own address


def _useless(key: str, where: str, *, hint: bool) -> SettingWarning:
    if key in FILE_ONLY:
        return SettingWarning("bad", key, f"{key} has no effect in the environment: set it in settings.json.")
    if key == "CLAUDE_MEM_OFF":
        says = f"{key} has no effect in settings.json: set it in the environment, or run: claude-mem off"
        return SettingWarning("bad", key, says)
    return warning.unknown(key, where, hint=hint)


def _instead(setting: Setting, chosen: Mapping[str, Any]) -> str:
    if setting.key == "CLAUDE_MEM_BASE_URL" and chosen.get("provider") == "offline":
        return "No model is asked until it is corrected."
    value = chosen.get(setting.field, default(setting))
    if value is None or setting.takes.kind == "secret":
        return "It is ignored."
    if isinstance(value, frozenset | tuple):
        return f"Used instead: {', '.join(sorted(value)) or 'none'}."
    return f"Used instead: {value}."


_DEFAULTS = {each.name: each.default for each in fields(Settings) if each.default is not MISSING}
