"""Answers with the end of the worker's own log, or what was added since; it quotes nothing of memory."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO, get_args

from claude_mem.api.system import LogLevel, LogLine, LogsAnswer

MOST_BYTES = 1 << 20
LEVELS: tuple[str, ...] = get_args(LogLevel)

_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) ([A-Z]+) ([\w.]+): (.*)", re.ASCII | re.DOTALL)
_PLACE = re.compile(r"(\d{1,20})-(\d{1,15})", re.ASCII)


def tail(log: Path, after: str, level: LogLevel, limit: int) -> LogsAnswer:
    """`after`: the `next` of an answer, or nothing for the end of the log."""
    text, following = _read(log, after)
    wanted = LEVELS[LEVELS.index(level) :]
    lines = [line for line in _parsed(text) if line.level in wanted or line.level not in LEVELS]
    return LogsAnswer(lines[-limit:], following)


def _read(log: Path, after: str) -> tuple[str, str | None]:
    """What was written since a place (a file, and how much of it was read); else the end of it all. A log
    that was rotated meanwhile is read to its end first."""
    place = _PLACE.fullmatch(after)
    told = b""
    following = None
    with ExitStack() as stack:
        for file in _opened(log, stack):
            found = os.fstat(file.fileno())  # of what was opened: by now the name may be another file's
            start = 0
            if place and found.st_ino == int(place[1]):
                told, start = b"", min(int(place[2]), found.st_size)
            file.seek(max(start, found.st_size - MOST_BYTES))
            piece = file.read(MOST_BYTES)
            whole = piece[: piece.rfind(b"\n") + 1]  # a line that is being written comes whole the next time
            told += whole
            following = f"{found.st_ino}-{_end(start, found.st_size, whole)}"
    return told[-MOST_BYTES:].decode("utf-8", "replace"), following


def _opened(log: Path, stack: ExitStack) -> list[BinaryIO]:
    """The rotated one, and the log. Opened the other way round: rotated in between, the log is found twice,
    and nothing is missed."""
    files: list[BinaryIO] = []
    for path in (log, log.with_name(f"{log.name}.1")):
        with suppress(OSError):
            files.append(stack.enter_context(path.open("rb")))
    if len(files) == 2 and os.path.sameopenfile(*(file.fileno() for file in files)):
        del files[1]
    return files[::-1]


def _end(start: int, size: int, whole: bytes) -> int:
    return max(start, size - MOST_BYTES) + len(whole)


def _parsed(text: str) -> Iterator[LogLine]:
    """A record and the lines that follow it: where an exception passed."""
    record: list[str] = []
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        if found:
            if record:
                yield LogLine(*record)
            record = list(found.groups())
        elif record:
            record[-1] += f"\n{line}"
    if record:
        yield LogLine(*record)
