"""The database's files: readable only by their owner, never opened through a link, durable; and the contents
of a file's header."""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import struct
from pathlib import Path

from msgspec import Struct

from claude_mem.files import sync
from claude_mem.model.errors import StoreDamaged, StoreForeign
from claude_mem.store.sqlite.connection import APPLICATION_ID

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def is_plain(path: Path) -> bool:
    """A regular file, by its own name and not by where a link leads."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def refuse_link(path: Path) -> None:
    """Rejects a link under one of our names, because someone else put it there."""
    if path.is_symlink():
        raise StoreForeign(str(path), "it is a symbolic link")


def require_plain(path: Path) -> None:
    """A file, or nothing yet; a link, a pipe or a directory under its name is not ours to open."""
    refuse_link(path)
    if path.exists() and not is_plain(path):
        raise StoreForeign(str(path), "it is not a file")


def private_directory(path: Path) -> Path:
    """Make it if it is missing, 0700 whatever the umask."""
    refuse_link(path)
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o700)
    return path


def new_file(path: Path) -> None:
    """An empty file, 0600 whatever the umask, in the place of any left over from before."""
    path.unlink(missing_ok=True)
    os.close(os.open(path, _NEW, 0o600))
    path.chmod(0o600)


def copy(source: Path, target: Path) -> None:
    """A copy that is on the disk when this returns."""
    new_file(target)
    with os.fdopen(os.open(source, os.O_RDONLY | os.O_NOFOLLOW), "rb") as from_, target.open("wb") as to:
        shutil.copyfileobj(from_, to, 1 << 20)
        to.flush()
        os.fsync(to.fileno())


def beside(path: Path, suffix: str) -> Path:
    """A file next to a database: its log, its journal, a draft of it."""
    return path.with_name(path.name + suffix)


def draft_of(path: Path) -> Path:
    """The path of a file until it is complete."""
    return beside(path, ".draft")


def put_in_place(draft: Path, path: Path) -> None:
    """Renames a finished draft to its final name, atomically and durably."""
    sync(draft)
    draft.replace(path)
    sync(path.parent)


def require_sound(db: sqlite3.Connection, path: Path, look: str = "quick_check") -> None:
    """Checks the whole database; raises StoreDamaged with the problem."""
    (verdict,) = db.execute(f"PRAGMA {look}(1)").fetchone()
    if verdict != "ok":
        raise StoreDamaged(str(path), verdict)


class DatabaseHeader(Struct, frozen=True):
    """What a database file says of itself, read as bytes: no library opens it, so nothing about it can
    change. Only for a file no connection of this process has open: closing any descriptor of a file drops all
    POSIX locks the process holds on it, SQLite's among them."""

    is_claude_mem: bool
    version: int
    empty: bool  # it holds no table


_MAGIC = b"SQLite format 3\0"
_ENOUGH = 108  # the file's header, and the header of the tree that lists the tables
_TABLE_LEAF = 13
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEADER = struct.Struct(">4I4s4s8x")  # magic, format, page size, checkpoint, two salts, checksum
_WAL_FRAME = struct.Struct(">2I4s4s8x")  # page, pages after commit (or 0), two salts, checksum


def read_header(path: Path) -> DatabaseHeader | None:
    """None when there is no file, or nothing in it. The write-ahead log is looked into as well: after a kill
    the newest header may be there only."""
    try:
        with path.open("rb") as file:
            first = file.read(_ENOUGH)
    except FileNotFoundError:
        return None
    if not first:
        return None
    if len(first) < _ENOUGH or not first.startswith(_MAGIC):
        raise StoreDamaged(str(path), "it does not start with a database header")
    first = _newest_in_log(beside(path, "-wal")) or first
    (version,) = struct.unpack_from(">I", first, 60)
    (application,) = struct.unpack_from(">I", first, 68)
    if not _is_sane(first):
        raise StoreDamaged(str(path), "its header is invalid")
    kind, entries = struct.unpack_from(">BxxH", first, 100)
    return DatabaseHeader(
        is_claude_mem=application == APPLICATION_ID,
        version=version,
        empty=kind == _TABLE_LEAF and entries == 0,
    )


def _is_sane(first: bytes) -> bool:
    """Whether the values are valid. With others, SQLite would report a read-only file or a misuse, not
    damage."""
    written_by, read_by = first[18], first[19]
    (schema_format,) = struct.unpack_from(">I", first, 44)
    (encoding,) = struct.unpack_from(">I", first, 56)
    return written_by in (1, 2) and read_by in (1, 2) and schema_format <= 4 and encoding <= 3


def _newest_in_log(wal: Path) -> bytes | None:
    """The start of the database's first page as last committed to the log."""
    try:
        file = wal.open("rb")
    except FileNotFoundError:
        return None
    with file:
        head = file.read(_WAL_HEADER.size)
        if len(head) < _WAL_HEADER.size:
            return None
        magic, _format, page_size, _checkpoint, *salts = _WAL_HEADER.unpack(head)
        if magic not in _WAL_MAGIC:
            return None
        written: bytes | None = None
        committed: bytes | None = None
        while len(head := file.read(_WAL_FRAME.size)) == _WAL_FRAME.size:
            page, commits, *frame_salts = _WAL_FRAME.unpack(head)
            if frame_salts != salts:
                break  # left over from before the log was last started anew
            content = file.read(page_size)
            if len(content) < page_size:
                break  # killed while writing it, so it was never committed
            if page == 1 and content.startswith(_MAGIC):
                written = content[:_ENOUGH]
            if commits:
                committed = written
        return committed
