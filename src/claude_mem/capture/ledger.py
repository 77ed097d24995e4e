"""Decides the next event's name, and whether the spool still has room for it.

One line of fixed width beside the spooled files, changed in place under a record lock, so that it can be
updated on a full disk and costs no directory listing:

    <last name's time, ns> <files> <bytes> <most files> <most bytes>

The time never runs backwards: a name is the wall clock or, when that was set back, one more than the last.
The worker subtracts what it has drained and writes the user's limits.
"""

from __future__ import annotations

import posix
import time

from claude_mem.capture import places

MOST_FILES = 200_000
MOST_BYTES = 1 << 30
WIDTH = 20
TRIES, TRY_EVERY_S = 40, 0.005


class SpoolFull(Exception):
    """The spool is at its bound; the newest event is dropped and counted."""


def _line(numbers: tuple[int, ...]) -> bytes:
    return b" ".join(b"%0*d" % (WIDTH, max(0, number)) for number in numbers) + b"\n"


def parse(line: bytes) -> tuple[int, int, int, int, int]:
    """The five numbers; a damaged or empty line counts as a fresh ledger."""
    try:
        last, files, size, most_files, most_bytes = map(int, line.split())
    except ValueError:
        return 0, 0, 0, MOST_FILES, MOST_BYTES
    return last, files, size, most_files, most_bytes


def _open() -> tuple[int, bool]:
    """Open and lock; the lock goes with the descriptor. Whoever holds it for long was stopped in the middle:
    then the ledger is read and left as it is, for an event must not wait for it."""
    fd = posix.open(places.LEDGER, posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW, 0o600)
    for _ in range(TRIES):
        try:
            posix.lockf(fd, posix.F_TLOCK, 0)
        except (BlockingIOError, PermissionError):
            time.sleep(TRY_EVERY_S)
        else:
            return fd, True
    return fd, False


def admit(size: int, now_ns: int) -> int:
    """Count one more event of `size` bytes in and return the time that names it, or raise SpoolFull."""
    fd, locked = _open()
    try:
        last, files, total, most_files, most_bytes = parse(posix.pread(fd, 256, 0))
        if files >= most_files or total + size > most_bytes:
            raise SpoolFull
        name = max(now_ns, last + 1)
        if locked:
            posix.pwrite(fd, _line((name, files + 1, total + size, most_files, most_bytes)), 0)
        return name
    finally:
        posix.close(fd)


def discharge(files: int, size: int) -> None:
    """Count events out that have left the spool (or never reached it)."""
    fd, locked = _open()
    try:
        last, had_files, had_size, most_files, most_bytes = parse(posix.pread(fd, 256, 0))
        if locked:
            posix.pwrite(fd, _line((last, had_files - files, had_size - size, most_files, most_bytes)), 0)
    finally:
        posix.close(fd)


def reset(files: int, size: int, most_files: int, most_bytes: int) -> None:
    """Write what a listing found and the limits in force: killed hooks leave their weight behind."""
    fd, locked = _open()
    try:
        last = parse(posix.pread(fd, 256, 0))[0]
        if locked:
            posix.pwrite(fd, _line((last, files, size, most_files, most_bytes)), 0)
    finally:
        posix.close(fd)


def counted() -> int:
    """How many files the ledger believes are waiting."""
    fd, _ = _open()
    try:
        return parse(posix.pread(fd, 256, 0))[1]
    finally:
        posix.close(fd)
