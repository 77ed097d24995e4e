"""Checks whether copies of deleted rows remain in the unused middle of the database's pages.

SQLite overwrites freed space, but not the copies that remain when it rebuilds a page and some of its rows
move to another. No statement can access these bytes. So the file is read page by page, according to its
documented format, and the space between a page's cell list and its cells is compared with parts of the
deleted text.

A separate process reads it (this file, run as a script), because closing a file releases all locks that a
process has on it, including SQLite's.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

PIECE, STRIDE = 12, 8
"""Bytes. In a remaining copy, any run of PIECE + STRIDE - 1 bytes contains one complete piece."""

ON_PAGE = 4096
"""The rest of a row is on separate pages, which SQLite overwrites completely."""

MOST_PIECES = 400_000
"""If more is deleted, the file is rewritten without a scan, which also makes it smaller."""

_CELLS_AT = {2: 12, 5: 12, 10: 8, 13: 8}  # by kind of page: where the list of its cells begins
_FOUND, _CLEAN = 3, 0


class PageScan:
    def __init__(self) -> None:
        self._pieces: set[bytes] = set()

    def add(self, rows: Iterable[Iterable[object]]) -> None:
        """The texts of rows, each row's in the order of its columns."""
        for row in rows:
            room = ON_PAGE
            for value in row:
                if isinstance(value, str) and room > 0 and len(self._pieces) <= MOST_PIECES:
                    text = value[:room].encode(errors="replace")
                    room -= len(text)
                    self._pieces.update(
                        text[at : at + PIECE] for at in range(0, len(text) - PIECE + 1, STRIDE)
                    )

    def is_in(self, database: Path) -> bool:
        """Whether copies of the rows are in the file; true if it cannot be determined."""
        if not self._pieces:
            return False
        if len(self._pieces) > MOST_PIECES:
            return True
        command = [sys.executable, "-I", "-S", __file__, str(database)]
        looked = subprocess.run(command, input=b"".join(self._pieces), capture_output=True, check=False)  # noqa: S603 ourselves
        return looked.returncode != _CLEAN


def gaps(database: Path) -> Iterator[bytes]:
    """The unused space in the middle of each page, unless it is all zeros."""
    with database.open("rb") as file:
        head = file.read(100)
        size = int.from_bytes(head[16:18], "big")
        size = 65536 if size == 1 else size
        file.seek(0)
        start = 100  # the first page begins with the file's own header
        while page := file.read(size):
            cells = _CELLS_AT.get(page[start])
            if cells is not None:
                many = int.from_bytes(page[start + 3 : start + 5], "big")
                content = int.from_bytes(page[start + 5 : start + 7], "big") or 65536
                gap = page[start + cells + 2 * many : content]
                if gap.strip(b"\0"):
                    yield gap
            start = 0


def _look(database: Path, pieces: frozenset[bytes]) -> bool:
    return any(gap[at : at + PIECE] in pieces for gap in gaps(database) for at in range(len(gap) - PIECE + 1))


if __name__ == "__main__":
    content = sys.stdin.buffer.read()
    pieces = frozenset(content[at : at + PIECE] for at in range(0, len(content), PIECE))
    sys.exit(_FOUND if _look(Path(sys.argv[1]), pieces) else _CLEAN)
