"""Reads the end of a log that is being written and rotated."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

LOOK_EVERY_S = 0.25


def last(log: Path, count: int) -> list[str]:
    """The last lines, also those that have been rotated away since."""
    lines: deque[str] = deque(maxlen=count)
    for path in (log.with_name(log.name + ".1"), log):
        try:
            with path.open(encoding="utf-8", errors="replace") as file:
                lines.extend(line.rstrip("\n") for line in file)
        except FileNotFoundError:
            continue
    return list(lines)


def follow(log: Path, rest: Callable[[], object] = lambda: time.sleep(LOOK_EVERY_S)) -> Iterator[str]:
    """What is appended from now on, for ever. `rest` is what is done between two looks."""
    with ExitStack() as open_files:
        file: IO[str] | None = None
        from_its_end = True
        while True:
            if file is None:
                file = _open(log)
                if file is not None:
                    open_files.enter_context(file)
                    if from_its_end:
                        file.seek(0, os.SEEK_END)
            from_its_end = False  # a log that appears later is new from its first line on
            if file is not None:
                if text := file.read():
                    yield text
                    continue
                if _was_rotated(file, log):
                    file.close()
                    file = None
                    continue
            rest()


def _open(log: Path) -> IO[str] | None:
    try:
        return log.open(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None


def _was_rotated(file: IO[str], log: Path) -> bool:
    """Another file has the name now, or the same one was emptied."""
    try:
        named = log.stat()
    except FileNotFoundError:
        return False  # between the rename and the new file: what is still written goes to the old one
    mine = os.fstat(file.fileno())
    return (named.st_dev, named.st_ino) != (mine.st_dev, mine.st_ino) or named.st_size < file.tell()
