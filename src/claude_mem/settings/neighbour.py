"""Decides where our database lies in a data directory in which another program was first.

The TypeScript claude-mem keeps its own under the same name, `~/.claude-mem/claude-mem.db`. What is there
stays as it is, and ours lies beside it. That is decided once: when ours is there, nothing else is asked.
"""

from __future__ import annotations

import struct
from pathlib import Path

from claude_mem.capture import places

_MAGIC = b"SQLite format 3\0"
_ENOUGH = 108  # the file's header, and the header of the tree that lists the tables
_TABLE_LEAF = 13


def database(data_dir: Path) -> Path:
    """Ours. Only to be asked before it is opened: looking at a file drops SQLite's locks on it."""
    beside = data_dir / places.BESIDE
    usual = data_dir / places.DATABASE
    return beside if beside.exists() or is_anothers(usual) else usual


def is_shared(data_dir: Path) -> bool:
    return database(data_dir).name == places.BESIDE


def has_mode_of_its_own(data_dir: Path, mode: str | None) -> bool:
    """Whether a mode is one of the other program's, which has some of the names we have, and a file format of
    its own."""
    ours = mode in (None, "code") or (data_dir / places.MODES / f"{mode}.toml").exists()
    return not ours and is_shared(data_dir)


def is_anothers(path: Path) -> bool:
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
