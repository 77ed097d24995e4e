"""Reads another program's SQLite file, as of one moment and without changing anything.

Opening a database that has a write-ahead log writes files next to it. So a database with a log is read from a
copy, and one without a log is opened as immutable.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from claude_mem.model.errors import StoreError
from claude_mem.store.sqlite.connection import translated

ATTEMPTS = 5
AT_ONCE = 500
_LOGS = ("-wal", "-journal")
_LOG_HEADER = 32  # its salts change when it is begun anew
_PRAGMAS = (
    "PRAGMA query_only = ON",
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",
    "PRAGMA temp_store = MEMORY",
)

Row = dict[str, object]


class ForeignDatabase:
    """The tables of an open database file."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db, self._path = db, path

    def columns(self, table: str) -> frozenset[str]:
        """The columns of a table; empty: there is no such table."""
        with translated(self._path):
            known = self._db.execute(
                "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)
            ).fetchone()
            if known is None or not str(known[0]).upper().startswith("CREATE TABLE"):
                return frozenset()
            found = self._db.execute("SELECT name FROM pragma_table_info(?)", (table,))
            return frozenset(str(name) for (name,) in found)

    def count(self, table: str) -> int:
        if not self.columns(table):
            return 0
        with translated(self._path):
            (count,) = self._db.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()  # noqa: S608
            return int(count)

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[Row]:
        """A table's rows in their order, with those of the columns that it has."""
        existing = self.columns(table)
        names = [name for name in columns if name in existing]
        if not names:
            return
        selected = ", ".join(map(_quoted, names))
        with translated(self._path):
            found = self._db.execute(f"SELECT {selected} FROM {_quoted(table)} ORDER BY rowid")  # noqa: S608
            while some := found.fetchmany(AT_ONCE):
                for row in some:
                    yield dict(zip(names, row, strict=True))


@contextmanager
def opened(path: Path) -> Iterator[ForeignDatabase]:
    """Opens a database file. Raises StoreError if it does not exist or cannot be read."""
    path = path.resolve()  # its log lies beside the file itself
    with translated(path), path.open("rb"):
        pass
    if not any(_beside(path, log).exists() for log in _LOGS):
        with _connected(path, "mode=ro&immutable=1", path) as db:
            yield db
        return
    with tempfile.TemporaryDirectory(prefix="claude-mem-") as folder:
        copy = _copied(path, Path(folder))
        with _connected(copy, "mode=rw", path) as db:
            yield db


@contextmanager
def _connected(file: Path, options: str, path: Path) -> Iterator[ForeignDatabase]:
    with translated(path):
        db = sqlite3.connect(f"{file.as_uri()}?{options}", uri=True, isolation_level=None)
    with closing(db):
        db.text_factory = lambda raw: raw.decode(errors="replace")
        with translated(path):
            for pragma in _PRAGMAS:
                db.execute(pragma)
        yield ForeignDatabase(db, path)


def _copied(path: Path, folder: Path) -> Path:
    """The file with its logs, as they were at one moment. The file itself is changed only when a write-ahead
    log is moved into it: if that did not happen meanwhile, the two belong together."""
    copy = folder / "copy.db"
    with translated(path):
        for _ in range(ATTEMPTS):
            before = _state(path)
            shutil.copyfile(path, copy)
            for log in _LOGS:
                _beside(copy, log).unlink(missing_ok=True)
                if _beside(path, log).exists():
                    shutil.copyfile(_beside(path, log), _beside(copy, log))
            if _state(path) == before:
                return copy
    raise StoreError(f"{path} is being written constantly. Stop the program that uses it and try again.")


def _state(path: Path) -> tuple[object, ...]:
    found, log = path.stat(), _beside(path, "-wal")
    head = b""
    if log.exists():
        with log.open("rb") as file:
            head = file.read(_LOG_HEADER)
    return found.st_ino, found.st_size, found.st_mtime_ns, head, _beside(path, "-journal").exists()


def _beside(path: Path, log: str) -> Path:
    return path.with_name(path.name + log)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
