"""Reads the hook's payload from stdin, up to a cap and a deadline."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` costs an enum; typeshed has no stub of this
import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


MOST_BYTES = 2 << 20  # of a longer payload, the rest is read and discarded
TAIL_BYTES = 64 << 10  # kept from its end, which names the tool use
CHUNK = 1 << 20
READ_WITHIN_S = 2.0  # for a client that never closes the pipe; others write the payload at once


class DeadlinePassed(BaseException):
    """The deadline has passed. Not an Exception, so that no handler swallows it."""


def _raise_deadline(*_: object) -> NoReturn:
    raise DeadlinePassed


def deadline(seconds: float) -> None:
    """Raises Late in the main thread after `seconds`. Replaces the previous deadline; 0: none."""
    _signal.signal(_signal.SIGALRM, _raise_deadline)
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def read(seconds: float) -> tuple[bytes, bytes, bool]:
    """The payload's head, the tail of what exceeded the cap, and whether the head is the complete payload. If
    the deadline passes first, the head is what has arrived."""
    head, tail, size = [], b"", 0
    try:
        deadline(seconds)
        while chunk := posix.read(0, CHUNK):
            if size < MOST_BYTES:
                head.append(chunk)
                size += len(chunk)
            else:
                tail = (tail + chunk)[-TAIL_BYTES:]
    except DeadlinePassed:
        return b"".join(head), tail, False
    finally:
        deadline(0)
    return b"".join(head), tail, not tail
