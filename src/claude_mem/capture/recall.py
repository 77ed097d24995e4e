"""Asks the worker what it remembers, and does not wait for long.

    {"type":"ask","version":…,"event":…,"payload":…}   ->   {"type": "answer", "context": "…"}

The same line wakes it: what was spooled before is drained.
"""

from __future__ import annotations

import time

from claude_mem import __version__
from claude_mem.capture import answer, places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket

WITHIN_S = 0.3
TOOL_WITHIN_S = 0.15  # asked before every tool that touches a file
MOST_BYTES = answer.MOST_BYTES + 64
ASK = b'{"type":"ask","version":"%s","event":"%s","payload":%s}\n'
OPENING = b'{"type": "answer", "context": '
CLOSING = b"}\n"


class NobodyListens(Exception):
    """There is no worker."""


def may_be_asked(payload: bytes) -> bool:
    """Not about what is private, nor with what was scrubbed without the user's own rules."""
    return b'"claude_mem_private":true' not in payload and b'"claude_mem_scrub_again":true' not in payload


def ask(event: bytes, payload: bytes, within_s: float) -> bytes | None:
    """The hook's answer that shows what the worker says; None when it says nothing, nonsense, or too late.
    Raises NobodyListens."""
    import _socket

    deadline = time.monotonic() + within_s
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(within_s)
        try:
            sock.connect(places.HOOK_SOCK)
        except BlockingIOError:
            return None  # its backlog is full
        except OSError as error:
            raise NobodyListens from error
        # A line break between JSON's tokens is a blank like any other; inside a string there is none.
        sock.sendall(ASK % (__version__.encode(), event, payload.replace(b"\n", b" ")))
        said = _hear(sock, deadline)
    except OSError:
        return None  # too late, or hung up on
    finally:
        sock.close()
    if not said.startswith(OPENING) or not said.endswith(CLOSING):
        return None
    return answer.showing(event, said[len(OPENING) : -len(CLOSING)])


def _hear(sock: socket, deadline: float) -> bytes:
    """One line, or what there is of it. Raises OSError past the deadline, also for a line that drips in."""
    said = b""
    while not said.endswith(b"\n") and len(said) <= MOST_BYTES:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        sock.settimeout(left)
        part = sock.recv(MOST_BYTES)
        if not part:
            break
        said += part
    return said
