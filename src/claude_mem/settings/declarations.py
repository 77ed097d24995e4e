"""All settings, declared once: name, default, allowed values, meaning. The docs are generated from this
file."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct, field

from claude_mem.hook import spool_writer
from claude_mem.model.structs import replace
from claude_mem.providers import registry
from claude_mem.settings import foreign_database
from claude_mem.settings.value_types import (
    AMOUNT,
    BYTES,
    DATABASE_URL,
    EMBEDDER,
    FOLDERS,
    KEY,
    LANGUAGE,
    MODE,
    MODEL,
    NAMES,
    ON_OFF,
    PROGRAM,
    TABLE,
    TOKENS,
    ValueType,
    either,
    globs,
    integer,
    one_of,
    url,
)

Verbosity = Literal["minimal", "normal", "verbose"]

SWITCHES = ("CLAUDE_MEM_DATA_DIR", "CLAUDE_MEM_OFF", "CLAUDE_MEM_OBSERVER")
"""Our variables that are not settings."""


class SettingWarning(Struct, frozen=True):
    kind: Literal["bad", "unknown", "theirs"]
    """bad: a value that cannot be used. unknown: not a setting. theirs: the TypeScript claude-mem's."""
    key: str
    message: str
    suggestion: str | None = None  # the setting that an unknown key was probably to be


class Setting(Struct, frozen=True):
    """The declaration of one field of Settings."""

    group: str
    key: str
    default: Any
    takes: ValueType
    meaning: str
    instead: object = None
    """The value that applies if the setting cannot be read, if it is not the default: the safest one."""
    file_only: bool = False  # read from the file alone
    field: str = ""


_DECLARED: list[Setting] = []  # in the order of the fields of Settings


def _setting(
    group: str,
    default: Any,
    takes: ValueType,
    meaning: str,
    *,
    instead: object = None,
    file_only: bool = False,
    key: str = "",
) -> Any:
    """The default of a field of Settings; all that is declared of the field goes to `_DECLARED`. Its key is
    CLAUDE_MEM_ and the field's name in capitals, unless another is given."""
    _DECLARED.append(Setting(group, key, default, takes, meaning, instead, file_only))
    return default


_observer = partial(_setting, "The observer")
_budget = partial(_setting, "The budget")
_recorded = partial(_setting, "What is recorded")
_injected = partial(_setting, "What is injected")
_search = partial(_setting, "Search")
_retention = partial(_setting, "Retention")
_team = partial(_setting, "The team")
_worker = partial(_setting, "The worker")


class Settings(Struct, frozen=True):
    """The settings in force. Groups are in the order of the docs: what is changed most often comes first."""

    data_dir: Path

    provider: str = _observer(
        "auto",
        one_of("auto", *(each.name for each in registry.PROVIDERS), "offline"),
        "What turns events into memory; `claude-mem install` asks. auto: claude if Claude Code is logged in, "
        "otherwise offline, which needs no model. An API key alone does not select a provider.",
        instead="offline",
    )
    model: str | None = _observer(
        None, MODEL, "The model that observes. Default: the provider's low-cost model."
    )
    summary_model: str | None = _observer(
        None, MODEL, "The model for batches that end a turn. Default: CLAUDE_MEM_MODEL."
    )
    api_key: str | None = _observer(
        None, KEY, f"The provider's API key. Default: {either(registry.KEY_VARIABLES)}."
    )
    base_url: str | None = _observer(
        None,
        url("http://127.0.0.1:11434/v1"),
        "The base URL of an OpenAI-compatible endpoint, or of one that uses Anthropic's protocol. "
        "If it is invalid, openai and anthropic are not used.",
    )
    claude_path: str | None = _observer(
        None,
        PROGRAM,
        "The path of the claude command, if it is not on the PATH.",
        key="CLAUDE_CODE_PATH",
    )
    observers: int = _observer(
        3,
        integer(1, 16),
        "How many sessions are observed at the same time. A model that hangs blocks at most this many. "
        "Each call of your own Claude Code takes about 200 MB while it runs.",
    )
    verbosity: Verbosity = _observer(
        "normal", one_of("minimal", "normal", "verbose"), "How much to turn into memory."
    )
    mode: str = _observer(
        "code", MODE, "What to look for: `code`, or one of your own files in modes/ in the data directory."
    )
    language: str | None = _observer(
        None, LANGUAGE, "The language in which memories are written. Default: the model decides."
    )

    daily_usd: float = _budget(
        2.0, AMOUNT, "The daily limit in US dollars, where prices are known. 0: no limit."
    )
    daily_tokens: int = _budget(
        2_000_000,
        TOKENS,
        "The daily limit in tokens; above it, the offline observer takes over. 0: no limit.",
    )
    session_usd: float = _budget(
        1.0, AMOUNT, "The limit per session in US dollars, where prices are known. 0: no limit."
    )
    session_tokens: int = _budget(1_000_000, TOKENS, "The limit per session in tokens. 0: no limit.")

    skip_tools: frozenset[str] = _recorded(
        frozenset({"ListMcpResourcesTool", "SlashCommand", "Skill"}),
        NAMES,
        "Tools whose calls are not recorded.",
    )
    excluded_projects: tuple[str, ...] = _recorded(
        (),
        globs('of globs such as ["~/clients/*", "payroll"]'),
        "Projects in which nothing is recorded and nothing is injected. With a slash: a directory and "
        "everything below it; without: a project's name. Cannot be set in the environment.",
        file_only=True,
    )
    exclude_paths: tuple[str, ...] = _recorded(
        (),
        globs('such as ["*.secret", "**/vault/*"]'),
        "Additional files whose contents are never recorded, as globs. Cannot be set in the environment.",
        file_only=True,
    )
    secret_patterns: tuple[tuple[str, str], ...] = _recorded(
        (),
        TABLE,
        "Additional secrets to redact: names and regular expressions. Cannot be set in the environment.",
        file_only=True,
    )
    watch: tuple[str, ...] = _recorded(
        (), FOLDERS, "Folders of transcripts to follow as they grow, for agents without hooks."
    )

    context_characters: int = _injected(
        9_500,
        integer(0, 9_900),
        "The maximum number of characters to inject at the start of a session. 0: inject nothing.",
    )
    context_tokens: int = _injected(3_000, integer(0, 10_000), "The same limit in tokens, approximately.")
    prompt_characters: int = _injected(
        2_400,
        integer(0, 9_900),
        "The maximum number of characters to inject with a prompt. 0: inject nothing.",
    )
    command_hints: Literal["on", "off"] = _injected(
        "on",
        ON_OFF,
        "Whether to inform the agent, before it runs a shell command, that the same command failed in "
        "earlier sessions, and why.",
    )

    start_line: Literal["on", "off"] = _injected(
        "off",
        ON_OFF,
        "Whether a session that starts with memories shows you one line about them, such as "
        "`mem: 3 memories, 1 open item`.",
    )

    vectors: Literal["builtin", "chroma", "off"] = _search(
        "builtin",
        one_of("builtin", "chroma", "off"),
        "Where the vectors for search by meaning are stored. builtin: in the database; chroma: in Chroma, "
        "which needs the extra `chroma`; off: nowhere, search uses full text only.",
    )
    embedder: str = _search(
        "static",
        EMBEDDER,
        "What makes the vectors. static: the model that comes with claude-mem; or a model of fastembed by "
        "name; or a folder with an ONNX model and tokenizer.json; or the URL of an OpenAI-compatible server, "
        "to which memories and queries are then sent. `claude-mem embedder use` checks it first.",
    )
    embedder_model: str | None = _search(None, MODEL, "The name of the model at that URL.")
    embedder_key: str | None = _search(None, KEY, "The API key for that URL, if it requires one.")
    chroma_url: str | None = _search(
        None,
        url("http://127.0.0.1:8000"),
        "The URL of a Chroma server. Default: chroma/ in the data directory.",
    )

    evidence_days: int = _retention(
        365,
        integer(0, 36_500),
        "How many days to keep the raw input and output of tools, which search includes. 0: forever.",
        instead=0,
    )
    evidence_mb: int = _retention(
        2_000,
        integer(0, 1_000_000),
        "How many megabytes of it to keep, approximately. Above that, the oldest is deleted; "
        "observations made from it stay. 0: no limit.",
        instead=0,
    )

    share_when: Literal["merged", "always"] = _team(
        "merged",
        one_of("merged", "always"),
        "When memories of a branch are shared with the team. merged: when git shows that the branch is in "
        "the default branch; always: immediately. Share projects with `claude-mem share`. Cannot be set in "
        "the environment.",
        file_only=True,  # what a repository sets in a session's environment must not share more
    )

    database_url: str | None = _worker(
        None,
        DATABASE_URL,
        "The address of a PostgreSQL database (15 or newer) that stores the memories, instead of the file in "
        "the data directory. Needs the extra `postgres`.",
    )
    worker_port: int = _worker(
        37777,
        integer(1024, 65535),
        "The worker's port on 127.0.0.1. If it is in use, the worker takes the next free one.",
    )
    log_level: str = _worker(
        "INFO", one_of("DEBUG", "INFO", "WARNING", "ERROR"), "How much the worker writes to its log."
    )
    spool_max_files: int = _worker(
        spool_writer.MOST_FILES,
        integer(100, 10_000_000),
        "The maximum number of events in the spool. Above it, new events are dropped and counted.",
    )
    spool_max_bytes: int = _worker(spool_writer.MOST_BYTES, BYTES, "The maximum size of the spool in bytes.")
    queue_alert_events: int = _worker(
        2_000,
        integer(0, 10_000_000),
        "Alert when more events than this wait to become memory: in `doctor`, /health and the viewer. "
        "0: never.",
    )
    queue_alert_minutes: int = _worker(
        60,
        integer(0, 100_000),
        "Alert when the oldest of them has waited for more minutes than this. 0: never.",
    )
    delete_timeout_ms: int = _worker(
        5_000,
        integer(0, 60_000),
        "How many milliseconds to wait for a deleted session's running work to stop.",
        key="CLAUDE_MEM_DELETE_TIMEOUT",
    )

    provider_variables: Mapping[str, str] = field(default_factory=dict)
    """Other programs' variables (`registry.VARIABLES`) that a provider uses if our setting is not set."""
    warnings: tuple[SettingWarning, ...] = ()
    """Settings that have no effect."""

    @property
    def passed_over(self) -> tuple[str, ...]:
        """Keys that are not settings."""
        names = dict.fromkeys(each.key for each in self.warnings if each.kind != "bad")
        return tuple(name.encode("utf-8", "replace").decode() for name in names)

    @property
    def database(self) -> Path:
        """The path of our database. Only to be used before it is opened."""
        return foreign_database.database(self.data_dir)

    def __repr__(self) -> str:
        """Without secrets, because it may be logged."""
        shown = (
            f"{name}={getattr(self, name)!r}" for name in self.__struct_fields__ if name not in _SECRET_FIELDS
        )
        return f"Settings({', '.join(shown)})"

    def data_path(self, name: str) -> Path:
        """The path of a file or folder of `hook.paths`."""
        return self.data_dir / name


SETTINGS: tuple[Setting, ...] = tuple(
    replace(declared, field=name, key=declared.key or f"CLAUDE_MEM_{name.upper()}")
    for name, declared in zip(Settings.__struct_fields__[1:-2], _DECLARED, strict=True)
)
_SECRET_FIELDS = {"provider_variables", *(each.field for each in SETTINGS if each.takes.kind == "secret")}
BY_KEY = {setting.key: setting for setting in SETTINGS}
