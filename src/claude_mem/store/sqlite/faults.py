"""What an error of SQLite means to us, decided by its code and never by its wording."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from claude_mem.model.errors import StoreDamaged, StoreError, StoreUnavailable

_PRIMARY = 0xFF  # the low byte of an extended code says what, the rest where

_UNAVAILABLE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOMEM,
}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


FAULTS = (sqlite3.Error, UnicodeDecodeError)
"""What Python's sqlite3 raises; the second when a damaged file makes SQLite's own message undecodable."""


def translate(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    name = getattr(error, "sqlite_errorname", None)
    detail = f"{error} ({name})" if name else str(error)
    if code is not None and code & _PRIMARY in _UNAVAILABLE:
        return StoreUnavailable(detail)
    if code is not None and code & _PRIMARY in _DAMAGED:
        return StoreDamaged(str(path), detail)
    if code is None and isinstance(error, sqlite3.OperationalError | UnicodeDecodeError):
        return StoreDamaged(str(path), detail)  # Python could not read the text it was given
    return StoreError(detail)


@contextmanager
def translated(path: Path, db: sqlite3.Connection | None = None) -> Iterator[None]:
    """SQLite's and the file system's errors leave as ours; `db`, if given, is closed on the way out."""
    try:
        yield
    except FAULTS as error:
        if db is not None:
            db.close()
        raise translate(error, path) from error
    except OSError as error:
        if db is not None:
            db.close()
        raise StoreUnavailable(f"{error.strerror or error}: {error.filename or path}") from error
