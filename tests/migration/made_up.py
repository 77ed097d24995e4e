"""Migrations that were never released, to see the machinery at work: a column, a table, an index."""

from __future__ import annotations

from claude_mem.store.sqlite import schema
from claude_mem.store.sqlite.schema import FIRST_RELEASE, Migration

STEPS = (
    "ALTER TABLE projects ADD COLUMN colour TEXT;",
    """CREATE TABLE kinds_seen (kind TEXT PRIMARY KEY, times INTEGER NOT NULL) STRICT;
INSERT INTO kinds_seen SELECT kind, COUNT(*) FROM pending_messages GROUP BY kind;""",
    "CREATE INDEX kinds_by_times ON kinds_seen (times);",
)
MADE_UP = tuple(Migration(FIRST_RELEASE + n, f"step_{n}", sql) for n, sql in enumerate(STEPS, 1))
RELEASED = schema.script()
FRESH = "\n".join((RELEASED, *STEPS))


def install() -> None:
    """In a process of its own; a test does the same by `monkeypatch`."""
    schema.migrations = lambda: MADE_UP
    schema.script = lambda: FRESH
