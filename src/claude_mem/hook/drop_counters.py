"""Counts events that could not be stored, in a file that can be written on a full disk.

One line of fixed width per reason, made in full when the file is made and afterwards changed in place:

    <reason> <how many were lost> <how many of these the user was shown>
"""

from __future__ import annotations

import errno
import posix

from claude_mem.hook import paths, spool_writer, stdin

REASONS = ("spool_full", "disk_full", "io_error", "late", "unreadable", "crashed")
WIDTH = 12
MOST_BYTES = 4096
_NAME = max(map(len, REASONS))
NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class NotAPayload(Exception):
    """Stdin did not contain a hook payload."""


class NoSession(NotAPayload):
    """The payload does not name a session."""


def reason(error: BaseException) -> str:
    """The reason under which a failure is counted."""
    if isinstance(error, spool_writer.SpoolFull):
        return "spool_full"
    if isinstance(error, stdin.DeadlinePassed):
        return "late"
    if isinstance(error, NotAPayload):
        return "unreadable"
    if isinstance(error, OSError):
        return "disk_full" if error.errno in NO_SPACE else "io_error"
    return "crashed"


def prepare() -> None:
    """Creates the file, so that it can be changed in place when the disk is full."""
    _change(posix.O_CREAT, {}, {})


def parse(content: bytes) -> dict[str, int]:
    """How many events were lost, by reason; missing reasons are 0."""
    return _column(content, 0)


def read() -> dict[str, int]:
    """Drops by reason."""
    return parse(_content())


def count(reason: str) -> None:
    """Counts one more dropped event for `reason`. Raises OSError if even that cannot be written."""
    _change(posix.O_CREAT, {reason: 1}, {})


def news() -> dict[str, int]:
    """How many losses were not shown to the user yet, by reason; only reasons with losses."""
    content = _content()
    shown = _column(content, 1)
    new = {reason: count - shown[reason] for reason, count in parse(content).items()}
    return {reason: number for reason, number in new.items() if number > 0}


def mark_shown(shown: dict[str, int]) -> None:
    """Marks this many losses as shown to the user. Later ones stay new."""
    if shown:
        _change(0, {}, shown)


def _column(content: bytes, which: int) -> dict[str, int]:
    counts = dict.fromkeys(REASONS, 0)
    for line in content.decode("ascii", "replace").splitlines():
        name, *numbers = line.split() or [""]
        if name in counts and len(numbers) > which and numbers[which].isdigit():
            counts[name] = int(numbers[which])
    return counts


def _content() -> bytes:
    try:
        return paths.content(paths.DROPS, MOST_BYTES, paths.NO_LINKS)
    except OSError:
        return b""  # no file


def _change(flags: int, losses: dict[str, int], shown: dict[str, int]) -> None:
    """Adds to the numbers. The length of the content stays the same, and one write replaces it."""
    fd = posix.open(paths.DROPS, posix.O_RDWR | posix.O_CLOEXEC | posix.O_NOFOLLOW | flags, 0o600)
    try:
        posix.lockf(fd, posix.F_LOCK, 0)
        content = posix.pread(fd, MOST_BYTES, 0)
        had, knew = _column(content, 0), _column(content, 1)
        lines = [
            b"%-*s %0*d %0*d\n"
            % (
                *(_NAME, reason.encode()),
                *(WIDTH, had[reason] + losses.get(reason, 0)),
                *(WIDTH, knew[reason] + shown.get(reason, 0)),
            )
            for reason in REASONS
        ]
        posix.pwrite(fd, b"".join(lines), 0)
    finally:
        posix.close(fd)
