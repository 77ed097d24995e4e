"""Reads the hook's payload from standard input: never more than a cap, never longer than a deadline."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs an enum; typeshed has no stub of this
import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


MOST_BYTES = 2 << 20  # what is used of a payload; the rest is read and thrown away
TAIL_BYTES = 64 << 10  # of the end, which names the tool use, as much as this
CHUNK = 1 << 20
READ_WITHIN_S = 2.0  # the client writes its payload at once; this is for one that never closes the pipe


class Late(BaseException):
    """The deadline has passed. Not an Exception: nothing on the way out may swallow it."""


def _raise_late(*_: object) -> NoReturn:
    raise Late


def deadline(seconds: float) -> None:
    """From `seconds` on, whatever is being waited for is interrupted by Late. Replaces the one before."""
    _signal.signal(_signal.SIGALRM, _raise_late)
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def read(seconds: float) -> tuple[bytes, bytes, bool]:
    """The payload's head, the tail of what was over the cap, and whether all of it is in the head.

    When the deadline passes before the end, what has come until then is the head, and it is not whole.
    """
    head, tail, size = [], b"", 0
    try:
        deadline(seconds)
        while chunk := posix.read(0, CHUNK):
            if size < MOST_BYTES:
                head.append(chunk)
                size += len(chunk)
            else:
                tail = (tail + chunk)[-TAIL_BYTES:]
    except Late:
        return b"".join(head), tail, False
    finally:
        deadline(0)
    return b"".join(head), tail, not tail
