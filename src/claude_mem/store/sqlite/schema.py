"""Bringing a file to the schema this version knows, or leaving it exactly as it is."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import assert_never

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreForeign, StoreTooNew
from claude_mem.store import migrate
from claude_mem.store.sqlite import backup, header
from claude_mem.store.sqlite.connection import APPLICATION_ID, open_draft, open_writer, shrinking
from claude_mem.store.sqlite.faults import translated
from claude_mem.store.sqlite.files import draft_of, new_file, put_in_place, require_plain

_HERE = Path(__file__).parent


def migrations() -> tuple[migrate.Migration, ...]:
    return migrate.load(_HERE / "migrations")


def open_current(path: Path, *, clock: Clock, backups: Path) -> sqlite3.Connection:
    """The writing connection to an up-to-date database: made, migrated, or refused untouched."""
    require_plain(path)
    known = migrations()
    with translated(path):
        found = header.read(path)
    match migrate.plan(found, known):
        case migrate.Create():
            create(path, (_HERE / "schema.sql").read_text(encoding="utf-8"), len(known))
            return open_writer(path)
        case migrate.Foreign():
            raise StoreForeign(str(path), "it holds somebody else's tables")
        case migrate.TooNew():
            assert found is not None
            raise StoreTooNew(str(path), found=found.version, known=len(known))
        case migrate.Upgrade():
            path.chmod(0o600)
            db = open_writer(path)
            with translated(path, db):
                # Asked again: only SQLite's checksums tell whether the log's last transaction is whole.
                (version,) = db.execute("PRAGMA user_version").fetchone()
                if version < len(known):
                    backup.before_migration(path, backups, clock(), version, len(known))
                for migration in known[version:]:
                    apply(db, migration.sql, migration.version)
            return db
        case never:
            assert_never(never)


def create(path: Path, script: str, version: int) -> None:
    """A new database takes its name only when it is whole, so a half-made one is never found under it."""
    draft = draft_of(path)
    with translated(path):
        new_file(draft)
        db = open_draft(draft)
        with translated(path, db):
            shrinking(db)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            apply(db, script, version)
        db.close()
        # A log is void without its database, but SQLite would play it into the new one.
        for left_over in ("-wal", "-shm", "-journal"):
            path.with_name(path.name + left_over).unlink(missing_ok=True)
        put_in_place(draft, path)


def apply(db: sqlite3.Connection, script: str, version: int) -> None:
    """One step and the version it leads to, in one transaction: killed in the middle, it never happened."""
    try:
        db.executescript(f"BEGIN IMMEDIATE;\n{script}\n;PRAGMA user_version = {version};\nCOMMIT;")
    except sqlite3.Error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
