"""Every setting: what it means, and what is allowed. The docs are made of this table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from claude_mem.settings.values import (
    AMOUNT,
    GLOBS,
    LIST,
    NAMES,
    SECRET,
    TABLE,
    TEXT,
    URL,
    Takes,
    integer,
    one_of,
)


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    field: str
    meaning: str
    allowed: str  # in words, for people: what it takes is decided by `takes`
    takes: Takes
    instead: object = None
    """What holds while its value cannot be read, if that is not the default: what harms the user least."""

    def parse(self, value: object) -> Any:
        """Raises ValueError or TypeError."""
        return self.takes.parse(value)


GROUPS = {
    "The observer": (
        Setting(
            "CLAUDE_MEM_PROVIDER",
            "provider",
            "Who turns events into memory. auto: claude if its command is there and logged in, anthropic or "
            "openai if a key or an address is set, else offline, which needs no model.",
            "auto, claude, anthropic, openai or offline",
            one_of("auto", "claude", "anthropic", "openai", "offline"),
            instead="offline",
        ),
        Setting(
            "CLAUDE_MEM_MODEL",
            "model",
            "The model that observes; without it, the provider's cheap one.",
            "a model's name",
            TEXT,
        ),
        Setting(
            "CLAUDE_MEM_SUMMARY_MODEL",
            "summary_model",
            "The model for batches that end a turn; without it, the one that observes.",
            "a model's name",
            TEXT,
        ),
        Setting(
            "CLAUDE_MEM_API_KEY",
            "api_key",
            "The provider's key; without it ANTHROPIC_API_KEY or OPENAI_API_KEY.",
            "a key",
            SECRET,
        ),
        Setting(
            "CLAUDE_MEM_BASE_URL",
            "base_url",
            "The address of an OpenAI-compatible endpoint, or of another that speaks Anthropic's protocol. "
            "While it cannot be read, only the provider claude is asked.",
            "an address such as http://127.0.0.1:11434/v1",
            URL,
        ),
        Setting(
            "CLAUDE_CODE_PATH",
            "claude_path",
            "Where the claude command is, if not on the PATH.",
            "a path",
            TEXT,
        ),
        Setting(
            "CLAUDE_MEM_VERBOSITY",
            "verbosity",
            "How much is worth remembering.",
            "minimal, normal or verbose",
            one_of("minimal", "normal", "verbose"),
        ),
        Setting(
            "CLAUDE_MEM_MODE",
            "mode",
            "What to look for: `code`, or a file of yours in modes/ in the data directory.",
            "the name of a mode",
            TEXT,
        ),
        Setting(
            "CLAUDE_MEM_LANGUAGE",
            "language",
            "The language memory is written in; without it, the model's choice.",
            "a language's name, such as Deutsch",
            TEXT,
        ),
    ),
    "The budget": (
        Setting(
            "CLAUDE_MEM_DAILY_USD",
            "daily_usd",
            "How many US dollars a day may cost, where prices are known. 0: no limit.",
            "a number from 0 to 1000000",
            AMOUNT,
        ),
        Setting(
            "CLAUDE_MEM_DAILY_TOKENS",
            "daily_tokens",
            "How many tokens a day may cost; past it the offline observer takes over. 0: no limit.",
            "a whole number from 0 to 1000000000",
            integer(0, 1_000_000_000),
        ),
        Setting(
            "CLAUDE_MEM_SESSION_USD",
            "session_usd",
            "How many US dollars one session may cost, where prices are known. 0: no limit.",
            "a number from 0 to 1000000",
            AMOUNT,
        ),
        Setting(
            "CLAUDE_MEM_SESSION_TOKENS",
            "session_tokens",
            "How many tokens one session may cost. 0: no limit.",
            "a whole number from 0 to 1000000000",
            integer(0, 1_000_000_000),
        ),
    ),
    "What is recorded": (
        Setting(
            "CLAUDE_MEM_SKIP_TOOLS",
            "skip_tools",
            "Tools whose uses are not worth remembering.",
            "a list of tool names, or one string with commas",
            NAMES,
        ),
        Setting(
            "CLAUDE_MEM_EXCLUDED_PROJECTS",
            "excluded_projects",
            "Projects of which nothing is recorded, and which are told nothing. With a slash: a directory "
            "and all below it; without: a project's name. The environment cannot set it.",
            'a list of globs such as ["~/clients/*", "payroll"]',
            GLOBS,
        ),
        Setting(
            "CLAUDE_MEM_EXCLUDE_PATHS",
            "exclude_paths",
            "Further files whose contents are never recorded, as globs. The environment cannot set it.",
            'a list such as ["*.secret", "**/vault/*"]',
            GLOBS,
        ),
        Setting(
            "CLAUDE_MEM_SECRET_PATTERNS",
            "secret_patterns",
            "Further secrets to redact: names and regular expressions. The environment cannot set it.",
            'an object such as {"employee-id": "E[0-9]{6}"}',
            TABLE,
        ),
        Setting(
            "CLAUDE_MEM_WATCH",
            "watch",
            "Folders whose transcripts are read while they grow, for clients without hooks.",
            'a list such as ["~/.claude/projects"], or one string with commas',
            LIST,
        ),
    ),
    "What sessions are told": (
        Setting(
            "CLAUDE_MEM_CONTEXT_CHARACTERS",
            "context_characters",
            "How many characters a session may be told at its start. 0: nothing.",
            "a whole number from 0 to 9900",
            integer(0, 9_900),
        ),
        Setting(
            "CLAUDE_MEM_CONTEXT_TOKENS",
            "context_tokens",
            "How many tokens that may be, about.",
            "a whole number from 0 to 10000",
            integer(0, 10_000),
        ),
        Setting(
            "CLAUDE_MEM_PROMPT_CHARACTERS",
            "prompt_characters",
            "How many characters a prompt may be answered with from memory. 0: nothing.",
            "a whole number from 0 to 9900",
            integer(0, 9_900),
        ),
    ),
    "How it is found": (
        Setting(
            "CLAUDE_MEM_VECTORS",
            "vectors",
            "Who keeps the vectors that find memories by meaning. builtin: in the database; chroma: Chroma, "
            "which needs the extra `chroma`; off: nobody, full text answers alone.",
            "builtin, chroma or off",
            one_of("builtin", "chroma", "off"),
        ),
        Setting(
            "CLAUDE_MEM_CHROMA_URL",
            "chroma_url",
            "The address of a Chroma server; without it, chroma/ in the data directory.",
            "an address such as http://127.0.0.1:8000",
            URL,
        ),
    ),
    "How long it is kept": (
        Setting(
            "CLAUDE_MEM_EVIDENCE_DAYS",
            "evidence_days",
            "How many days the raw text of what tools did is kept and searched. 0: for ever.",
            "a whole number from 0 to 36500",
            integer(0, 36_500),
            instead=0,
        ),
        Setting(
            "CLAUDE_MEM_EVIDENCE_MB",
            "evidence_mb",
            "How many megabytes of that text are kept, about; past it the oldest goes, never what was learnt "
            "of it. 0: no limit.",
            "a whole number from 0 to 1000000",
            integer(0, 1_000_000),
            instead=0,
        ),
    ),
    "The worker": (
        Setting(
            "CLAUDE_MEM_WORKER_PORT",
            "worker_port",
            "The worker's port on 127.0.0.1; if it is taken, the next free one.",
            "a whole number from 1024 to 65535",
            integer(1024, 65535),
        ),
        Setting(
            "CLAUDE_MEM_LOG_LEVEL",
            "log_level",
            "How much the worker writes to its log.",
            "DEBUG, INFO, WARNING or ERROR",
            one_of("DEBUG", "INFO", "WARNING", "ERROR"),
        ),
        Setting(
            "CLAUDE_MEM_SPOOL_MAX_FILES",
            "spool_max_files",
            "How many events may wait in the spool; past it the newest is dropped and counted.",
            "a whole number from 100 to 10000000",
            integer(100, 10_000_000),
        ),
        Setting(
            "CLAUDE_MEM_SPOOL_MAX_BYTES",
            "spool_max_bytes",
            "How many bytes may wait in the spool.",
            "a whole number from 1048576 (1 MiB) to 1099511627776 (1 TiB)",
            integer(1 << 20, 1 << 40),
        ),
        Setting(
            "CLAUDE_MEM_DELETE_TIMEOUT",
            "delete_timeout_ms",
            "How many milliseconds an aborted session's work may take to end.",
            "a whole number from 0 to 60000",
            integer(0, 60_000),
        ),
    ),
}
"""By what they are about; what is changed most often comes first."""

SETTINGS = tuple(setting for group in GROUPS.values() for setting in group)
GROUP_OF = {setting.key: name for name, group in GROUPS.items() for setting in group}

FILE_ONLY = ("CLAUDE_MEM_SECRET_PATTERNS", "CLAUDE_MEM_EXCLUDE_PATHS", "CLAUDE_MEM_EXCLUDED_PROJECTS")
"""The hook reads these, from the file alone."""

SWITCHES = ("CLAUDE_MEM_DATA_DIR", "CLAUDE_MEM_OFF", "CLAUDE_MEM_OBSERVER")
"""Variables of ours that are no settings."""

BORROWED = {
    "ANTHROPIC_API_KEY": "anthropic_api_key",
    "ANTHROPIC_BASE_URL": "anthropic_base_url",
    "OPENAI_API_KEY": "openai_api_key",
    "OPENAI_BASE_URL": "openai_base_url",
}
"""Variables of others that a provider takes when it has no setting of ours."""
