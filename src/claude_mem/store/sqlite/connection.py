"""How a connection is opened: what it may do, and the pragmas that make an acknowledged write last."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from claude_mem.model.errors import StoreUnavailable
from claude_mem.store.sqlite.faults import translated

APPLICATION_ID = 0x636D656D  # "cmem": how `file` and we ourselves tell our databases from others

BUSY_TIMEOUT_MS = 5_000

_WRITER = (
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
    "PRAGMA synchronous = FULL",  # an acknowledged event survives power loss; group commit pays for it
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",  # forget means forget: freed bytes are overwritten
    "PRAGMA temp_store = MEMORY",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA wal_autocheckpoint = 4000",  # 16 MiB: a burst pays for few checkpoints, a reader for no long log
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",  # notices a malformed page when it is read, not when it is overrun
)
_READER = (
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
    "PRAGMA query_only = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA trusted_schema = OFF",
)


def open_writer(path: Path) -> sqlite3.Connection:
    """The one connection that writes. The file must exist: creating it is `schema.create`'s decision."""
    db = _connect(path, "mode=rw", _WRITER)
    with translated(path, db):
        (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        db.close()
        raise StoreUnavailable(f"the file system of {path} cannot hold a write-ahead log")
    return db


def open_reader(path: Path) -> sqlite3.Connection:
    """A connection that cannot write."""
    return _connect(path, "mode=ro", _READER)


def open_sealed(path: Path) -> sqlite3.Connection:
    """A look at a file nobody is writing to: takes no lock, and leaves nothing beside it."""
    return _connect(path, "mode=ro&immutable=1", _READER)


def open_draft(path: Path) -> sqlite3.Connection:
    """A file that is renamed into place when it is finished, so it needs no journal until then."""
    return _connect(path, "mode=rw", ("PRAGMA journal_mode = MEMORY", "PRAGMA synchronous = OFF"))


def shrinking(db: sqlite3.Connection) -> None:
    """What is unused can be given back in small steps: before the first table is made, or a `VACUUM`."""
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")


def empty_log(db: sqlite3.Connection) -> bool:
    """Move the log into the database and cut it off; False if a reader stood in the way of some of it."""
    # No waiting for a reader (a backup may take seconds): the writers behind us are somebody's hooks.
    db.execute("PRAGMA busy_timeout = 0")
    try:
        busy, _in_log, _moved = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    return not busy


def _connect(path: Path, options: str, pragmas: tuple[str, ...]) -> sqlite3.Connection:
    with translated(path):
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?{options}",
            uri=True,
            isolation_level=None,  # transactions are begun and ended in our own words
            check_same_thread=False,  # the writer's thread and the readers' pool see to it
        )
    db.row_factory = sqlite3.Row
    db.text_factory = _text
    with translated(path, db):
        for pragma in pragmas:
            db.execute(pragma)
    return db


def _text(raw: bytes) -> str:
    """A bit that has flipped in somebody's words costs a letter; it must not stop the queue behind them."""
    return raw.decode(errors="replace")
