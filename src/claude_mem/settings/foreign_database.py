"""Detects another program's database and settings in a data directory that it used first.

The TypeScript claude-mem uses the same name, `~/.claude-mem/claude-mem.db`. Its database is not changed, and
ours is created next to it. This is decided once: if ours exists, nothing else is checked.
Both programs share `settings.json`.
"""

from __future__ import annotations

import struct
from pathlib import Path

from claude_mem.hook import paths

_MAGIC = b"SQLite format 3\0"
_ENOUGH = 108  # the file's header, and the header of the tree that lists the tables
_TABLE_LEAF = 13
_FOREIGN_SETTINGS = """
CLAUDE_AUTH_METHOD MAX_CONCURRENT_AGENTS WELCOME_HINT_ENABLED API_TIMEOUT_MS LLM_TIMEOUT_MS PYTHON_VERSION
RUNTIME OBSERVER_MAX_CONVERSATION_CHARS DATA_DIR WORKER_HOST CONTEXT_OBSERVATIONS CONTEXT_SESSION_COUNT
CHROMA_ENABLED CHROMA_MODE CHROMA_HOST CHROMA_PORT CHROMA_SSL CHROMA_API_KEY CHROMA_TENANT CHROMA_DATABASE
CHROMA_PREWARM_TIMEOUT_MS CHROMA_MAX_PENDING_MUTATIONS
"""
_FOREIGN_FAMILIES = """
CONTEXT_FULL_ CONTEXT_SHOW_ CONTEXT_OBSERVATION_ GEMINI_ OPENROUTER_ SEMANTIC_ TIER_ FOLDER_ TRANSCRIPTS_
CODEX_ TELEGRAM_ CLOUD_SYNC_ SERVER_ QUEUE_ REDIS_ TV_ PRO_ GROK_BOT_ CCS_ALIGN_
"""
"""Prefixes of the other program's settings, which none of ours has."""


def database(data_dir: Path) -> Path:
    """Ours. Only to be called before it is opened: looking at a file drops SQLite's locks on it."""
    beside = data_dir / paths.DATABASE_IF_TAKEN
    usual = data_dir / paths.DATABASE
    return beside if beside.exists() or is_foreign_database(usual) else usual


def is_shared(data_dir: Path) -> bool:
    return database(data_dir).name == paths.DATABASE_IF_TAKEN


def is_foreign_setting(key: str) -> bool:
    """Whether the other program has a setting with that name, and we do not."""
    name = key.removeprefix("CLAUDE_MEM_")
    return name != key and (
        name in _FOREIGN_SETTINGS.split() or name.startswith(tuple(_FOREIGN_FAMILIES.split()))
    )


def is_foreign_database(path: Path) -> bool:
    """Whether another program's tables are in the file. Ours says whose it is from its first byte on, and no
    bit that flips in what it says makes it say nothing at all, as others' databases do."""
    try:
        with path.open("rb") as file:
            first = file.read(_ENOUGH)
        log = path.with_name(f"{path.name}-wal")
        logged = log.stat().st_size if log.exists() else 0
    except OSError:
        return False
    if len(first) < _ENOUGH or not first.startswith(_MAGIC):
        return False
    (application,) = struct.unpack_from(">I", first, 68)
    kind, entries = struct.unpack_from(">BxxH", first, 100)
    has_tables = kind != _TABLE_LEAF or entries > 0 or logged > 0
    return application == 0 and has_tables
