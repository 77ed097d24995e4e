"""Counts what could not be kept, in a file that can be written on a full disk.

One line of fixed width per reason, made in full when the file is made and afterwards changed in place.
"""

from __future__ import annotations

import posix

from claude_mem.capture import ledger, places, stdin

REASONS = ("spool_full", "disk_full", "io_error", "late", "unreadable", "crashed")
TOLD = "told"  # not a reason: how many of them the user has been told of
WIDTH = 12
_LINES = (*REASONS, TOLD)
_NAME = max(map(len, _LINES))
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
        lines = b"".join(b"%-*s %0*d\n" % (_NAME, name.encode(), WIDTH, known[name]) for name in _LINES)
        posix.pwrite(fd, lines, 0)
    finally:
        posix.close(fd)


def parse(content: bytes) -> dict[str, int]:
    """The numbers by their names; what is not there is 0."""
    counts = dict.fromkeys(_LINES, 0)
    for line in content.splitlines():
        name, _, number = line.decode("ascii", "replace").partition(" ")
        if name in counts and number.strip().isdigit():
            counts[name] = int(number)
    return counts


def read() -> dict[str, int]:
    """Drops by reason."""
    try:
        fd = _open()
    except OSError:
        return dict.fromkeys(REASONS, 0)
    try:
        counts = parse(posix.pread(fd, 4096, 0))
    finally:
        posix.close(fd)
    return {reason: counts[reason] for reason in REASONS}


def count(reason: str) -> None:
    """One more was dropped for `reason`. Raises OSError where even that cannot be written."""
    try:
        fd = _open()
    except FileNotFoundError:
        prepare()
        fd = _open()
    try:
        posix.lockf(fd, posix.F_LOCK, 0)
        counts = parse(posix.pread(fd, 4096, 0))
        _put(fd, reason, counts[reason] + 1)
    finally:
        posix.close(fd)


def take_news() -> tuple[int, str] | None:
    """How many the user has not been told of yet, and the reason of most; told once."""
    try:
        fd = _open()
    except OSError:
        return None
    try:
        posix.lockf(fd, posix.F_LOCK, 0)
        counts = parse(posix.pread(fd, 4096, 0))
        worth_telling = {reason: counts[reason] for reason in REASONS if reason != "unreadable"}
        total = sum(worth_telling.values())
        if total <= counts[TOLD]:
            return None
        _put(fd, TOLD, total)
    finally:
        posix.close(fd)
    return total - counts[TOLD], max(worth_telling, key=lambda reason: worth_telling[reason])


def _open() -> int:
    return posix.open(places.DROPS, posix.O_RDWR | posix.O_CLOEXEC | posix.O_NOFOLLOW)


def _put(fd: int, name: str, number: int) -> None:
    posix.pwrite(fd, b"%0*d" % (WIDTH, number), _LINES.index(name) * _LINE + _NAME + 1)
