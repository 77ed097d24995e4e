"""Migrations that nobody releases, after those that were, to see the machinery at work.

`first_release.sql` is the schema as it was released first; it is never changed.
"""

from __future__ import annotations

from pathlib import Path

from claude_mem.store.sqlite import SqliteStore, schema
from claude_mem.store.sqlite.schema import Migration

STEPS = (
    "ALTER TABLE projects ADD COLUMN colour TEXT;",
    """CREATE TABLE kinds_seen (kind TEXT PRIMARY KEY, times INTEGER NOT NULL) STRICT;
INSERT INTO kinds_seen SELECT kind, COUNT(*) FROM pending_messages GROUP BY kind;""",
    "CREATE INDEX kinds_by_times ON kinds_seen (times);",
)
REAL = schema.migrations()
MADE_UP = (*REAL, *(Migration(schema.newest(REAL) + n, f"step_{n}", sql) for n, sql in enumerate(STEPS, 1)))
RELEASED = Path(__file__).with_name("first_release.sql").read_text(encoding="utf-8")
FRESH = "\n".join((schema.script(), *STEPS))


def open_and_close(path: Path) -> None:
    """A store, in a process of its own; a test makes the migrations known by `monkeypatch`."""
    schema.migrations = lambda: MADE_UP
    schema.script = lambda: FRESH
    SqliteStore.open(path, clock=lambda: 1_760_000_000_000, backups=path.parent / "backups").close()
