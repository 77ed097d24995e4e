"""Migrates a database to this version's schema, or leaves it exactly as it is."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreForeign, StoreTooNew, StoreTooOld
from claude_mem.store.sqlite import backup, database_files
from claude_mem.store.sqlite.connection import (
    APPLICATION_ID,
    SqliteConnection,
    open_draft,
    open_writer,
    shrinking,
    translated,
)
from claude_mem.store.sqlite.database_files import (
    DatabaseHeader,
    beside,
    draft_of,
    new_file,
    put_in_place,
    require_plain,
)

FIRST_RELEASE = 10
"""The version of the schema that was released first. Databases of it are current as they are; those of
development versions before it are refused."""

_HERE = Path(__file__).parent
_FILE = re.compile(r"(\d{4})_(\w+)\.sql")


class Migration(Struct, frozen=True):
    """One step from the version before it; never changed once released, only followed by another."""

    version: int
    name: str
    sql: str


def load_migrations(folder: Path) -> tuple[Migration, ...]:
    """The migrations in a folder of `0011_name.sql` files, which must count up from the first release without
    a gap."""
    found = []
    for path in sorted(folder.glob("*.sql")):
        named = _FILE.fullmatch(path.name)
        if named is None:
            raise ValueError(f"{path.name} is not named like 0011_name.sql")
        found.append(Migration(int(named[1]), named[2], path.read_text(encoding="utf-8")))
    if [migration.version for migration in found] != list(range(FIRST_RELEASE + 1, newest(found) + 1)):
        raise ValueError(
            f"the migrations in {folder} do not count up from {FIRST_RELEASE + 1:04} without a gap"
        )
    return tuple(found)


def newest(migrations: Sequence[Migration]) -> int:
    """The version they lead to."""
    return FIRST_RELEASE + len(migrations)


def require_readable(
    path: Path, found: DatabaseHeader | None, migrations: Sequence[Migration]
) -> DatabaseHeader | None:
    """What a database of ours says that these migrations bring up to date; None: there is none yet. Of any
    other hands off: raises StoreForeign, StoreTooOld or StoreTooNew."""
    if found is None or (found.empty and not found.is_claude_mem):
        return None
    if not found.is_claude_mem:
        raise StoreForeign(str(path), "it contains tables of another program")
    if found.version < FIRST_RELEASE:
        raise StoreTooOld(str(path), found=found.version, oldest=FIRST_RELEASE)
    if found.version > newest(migrations):
        raise StoreTooNew(str(path), found=found.version, known=newest(migrations))
    return found


def migrations() -> tuple[Migration, ...]:
    return load_migrations(_HERE / "migrations")


def readable() -> range:
    """The versions that this one can read: those that it can bring up to date."""
    return range(FIRST_RELEASE, newest(migrations()) + 1)


def script() -> str:
    """The newest schema, as a new database gets it."""
    return (_HERE / "schema.sql").read_text(encoding="utf-8")


def open_current(path: Path, *, clock: Clock, backups: Path) -> SqliteConnection:
    """The writing connection to an up-to-date database: made, migrated, or refused untouched."""
    require_plain(path)
    known = migrations()
    with translated(path):
        found = database_files.read_header(path)
    if require_readable(path, found, known) is None:
        create(path, script(), newest(known))
        return open_writer(path)
    path.chmod(0o600)
    db = open_writer(path)
    with translated(path, db):
        # Checked again: only SQLite's checksums show whether the log's last transaction is complete.
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version < newest(known):
            backup.before_migration(path, backups, clock(), version, newest(known))
        for migration in known[version - FIRST_RELEASE :]:
            apply(db, migration.sql, migration.version)
    return db


def create(path: Path, script: str, version: int) -> None:
    """Creates a database, which gets its name only when it is complete."""
    draft = draft_of(path)
    with translated(path):
        remove(draft)
        new_file(draft)
        db = open_draft(draft)
        with translated(path, db):
            shrinking(db)
            db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            apply(db, script, version)
            db.execute("PRAGMA journal_mode = WAL")  # now: once the file has its name, it costs four syncs
        db.close()
        remove_log(path)
        put_in_place(draft, path)


def remove(path: Path) -> None:
    """Removes a database and its log."""
    path.unlink(missing_ok=True)
    remove_log(path)


def remove_log(path: Path) -> None:
    """A log is void without its database, but SQLite would play it into a new one."""
    for ending in ("-wal", "-shm", "-journal"):
        beside(path, ending).unlink(missing_ok=True)


def apply(db: sqlite3.Connection, script: str, version: int) -> None:
    """Applies one step and sets its version, in one transaction."""
    try:
        db.executescript(f"BEGIN IMMEDIATE;\n{script}\n;PRAGMA user_version = {version};\nCOMMIT;")
    except sqlite3.Error:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
