"""Reads the hook's payload from stdin, up to a cap and a deadline; and what can be said of it unparsed."""

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
USUAL_BYTES = 64 << 10  # a longer payload is never stored without being parsed
HEAD, _EVENT = b'{"session_id":"', b'"hook_event_name":"'


class Payload:
    """What an agent wrote: the head, the tail of what exceeded the cap, and whether the head is all of it."""

    def __init__(self, head: bytes, tail: bytes = b"", is_complete: bool = True) -> None:
        self.head, self.tail, self.is_complete = head, tail, is_complete

    @property
    def may_be_stored_unparsed(self) -> bool:
        """Whether it is a whole object of common length, which may be stored as it is."""
        return self.is_complete and len(self.head) <= USUAL_BYTES and self.head.rstrip().endswith(b"}")

    @property
    def session(self) -> str | None:
        """The session's id where the client writes it, first of all; None: the payload must be parsed."""
        head = self.head
        session = head[len(HEAD) : head.find(b'"', len(HEAD))]
        if not head.startswith(HEAD) or b"\\" in session or head.count(b'"session_id"') > 1:
            return None  # an id with escapes, or two ids
        return session.decode(errors="replace")

    @property
    def event(self) -> bytes:
        """The event's name, if the payload starts the way the client writes it; otherwise empty."""
        if not self.head.startswith(HEAD):
            return b""
        start = self.head.find(_EVENT, 0, 2048) + len(_EVENT)
        if start < len(_EVENT) or self.head.find(b'"tool_input"', 0, start) >= 0:
            return b""
        return self.head[start : self.head.find(b'"', start)]


class DeadlinePassed(BaseException):
    """The deadline has passed. Not an Exception, so that no handler swallows it."""


def _raise_deadline(*_: object) -> NoReturn:
    raise DeadlinePassed


def deadline(seconds: float) -> None:
    """Raises DeadlinePassed in the main thread after `seconds`. Replaces the previous deadline; 0: none."""
    _signal.signal(_signal.SIGALRM, _raise_deadline)
    _signal.setitimer(_signal.ITIMER_REAL, seconds)


def read(seconds: float) -> Payload:
    """If the deadline passes first, the head is what has arrived."""
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
        return Payload(b"".join(head), tail, False)
    finally:
        deadline(0)
    return Payload(b"".join(head), tail, not tail)
