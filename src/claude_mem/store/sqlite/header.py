"""What a database file says of itself, read as bytes: no library opens it, so nothing about it can change.

Only for a file no connection of this process has open: closing any descriptor of a file drops all POSIX locks
the process holds on it, SQLite's among them.
"""

from __future__ import annotations

import struct
from pathlib import Path

from claude_mem.model.errors import StoreDamaged
from claude_mem.store.migrate import Found
from claude_mem.store.sqlite.connection import APPLICATION_ID

_MAGIC = b"SQLite format 3\0"
_ENOUGH = 108  # the file's header, and the header of the tree that lists the tables
_TABLE_LEAF = 13
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_WAL_HEADER = struct.Struct(">4I4s4s8x")  # magic, format, page size, checkpoint, two salts, checksum
_WAL_FRAME = struct.Struct(">2I4s4s8x")  # page, pages after commit (or 0), two salts, checksum


def read(path: Path) -> Found | None:
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
        raise StoreDamaged(str(path), "it does not begin like a database")
    first = _newest_in_log(path.with_name(path.name + "-wal")) or first
    (version,) = struct.unpack_from(">I", first, 60)
    (application,) = struct.unpack_from(">I", first, 68)
    if not _is_sane(first):
        raise StoreDamaged(str(path), "its header makes no sense")
    kind, entries = struct.unpack_from(">BxxH", first, 100)
    return Found(
        ours=application == APPLICATION_ID, version=version, empty=kind == _TABLE_LEAF and entries == 0
    )


def _is_sane(first: bytes) -> bool:
    """Values with which SQLite would call the file read-only, or an error of ours, instead of damaged."""
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
