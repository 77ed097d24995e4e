"""Counts what could not be kept, in a file that can be written on a full disk.

One line of fixed width per reason, made in full when the file is made and afterwards changed in place.
"""

from __future__ import annotations

import posix

from claude_mem.capture import ledger, places, stdin

REASONS = ("spool_full", "disk_full", "io_error", "late", "unreadable", "crashed")
WIDTH = 12
_NAME = max(map(len, REASONS))
_LINE = _NAME + 1 + WIDTH + 1


NO_SPACE = (28, 122)  # ENOSPC, EDQUOT


class NotAPayload(Exception):
    """Standard input held no hook payload."""


def reason(error: BaseException) -> str:
    """Under which reason a failure is counted."""
    if isinstance(error, ledger.SpoolFull):
        return "spool_full"
    if isinstance(error, stdin.Late):
        return "late"
    if isinstance(error, NotAPayload):
        return "unreadable"
    if isinstance(error, OSError):
        return "disk_full" if error.errno in NO_SPACE else "io_error"
    return "crashed"


def prepare() -> None:
    """Make the file, so that there is something to change in place when the disk is full."""
    fd = posix.open(places.DROPS, posix.O_RDWR | posix.O_CREAT | posix.O_CLOEXEC | posix.O_NOFOLLOW, 0o600)
    try:
        posix.lockf(fd, posix.F_LOCK, 0)
        known = parse(posix.pread(fd, 4096, 0))
        lines = b"".join(
            b"%-*s %0*d\n" % (_NAME, reason.encode(), WIDTH, known[reason]) for reason in REASONS
        )
        posix.pwrite(fd, lines, 0)
    finally:
        posix.close(fd)


def parse(content: bytes) -> dict[str, int]:
    """Drops by reason."""
    counts = dict.fromkeys(REASONS, 0)
    for line in content.splitlines():
        reason, _, number = line.decode("ascii", "replace").partition(" ")
        if reason in counts and number.strip().isdigit():
            counts[reason] = int(number)
    return counts


def read() -> dict[str, int]:
    try:
        fd = posix.open(places.DROPS, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW)
    except OSError:
        return parse(b"")
    try:
        return parse(posix.pread(fd, 4096, 0))
    finally:
        posix.close(fd)


def count(reason: str) -> None:
    """One more was dropped for `reason`. Raises OSError where even that cannot be written."""
    at = REASONS.index(reason) * _LINE + _NAME + 1
    try:
        fd = posix.open(places.DROPS, posix.O_RDWR | posix.O_CLOEXEC | posix.O_NOFOLLOW)
    except FileNotFoundError:
        prepare()
        fd = posix.open(places.DROPS, posix.O_RDWR | posix.O_CLOEXEC | posix.O_NOFOLLOW)
    try:
        posix.lockf(fd, posix.F_LOCK, 0)
        digits = posix.pread(fd, WIDTH, at)
        posix.pwrite(fd, b"%0*d" % (WIDTH, int(digits or b"0") + 1), at)
    finally:
        posix.close(fd)
