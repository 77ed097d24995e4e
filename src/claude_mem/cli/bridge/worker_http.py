"""One HTTP exchange with the worker over its socket: `http.client` is larger than all of the bridge."""

from __future__ import annotations

import _socket
import time

from claude_mem.hook import paths

CHUNK = 64 << 10


class HttpReply:
    def __init__(self, status: int, session: bytes, body: bytes) -> None:
        self.status, self.session, self.body = status, session, body


def exchange(request: bytes, within_s: float) -> HttpReply | None:
    """None: the worker hung up before it had sent everything. Raises BlockingIOError if it has too many
    callers, TimeoutError if it does not answer, another OSError if there is none."""
    deadline, received = time.monotonic() + within_s, []
    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(within_s)
        sock.connect(paths.WORKER_SOCK)
        try:
            sock.sendall(request)
            while chunk := sock.recv(CHUNK):
                received.append(chunk)
                sock.settimeout(max(0.001, deadline - time.monotonic()))
        except ConnectionError:
            pass  # it was killed; what it has sent counts if it is complete
    finally:
        sock.close()
    return parse(b"".join(received))


def parse(raw: bytes) -> HttpReply | None:
    head, _, body = raw.partition(b"\r\n\r\n")
    status, *lines = head.split(b"\r\n")
    headers = {
        name.strip().lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)
    }
    length, words = headers.get(b"content-length", b""), status.split()
    if len(words) < 2 or not words[1].isdigit() or not length.isdigit() or len(body) != int(length):
        return None
    return HttpReply(int(words[1]), headers.get(b"mcp-session-id", b""), body)
