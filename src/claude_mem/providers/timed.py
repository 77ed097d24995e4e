"""A socket whose every operation gets what is left of one deadline: look-up, connect, send, each read."""

from __future__ import annotations

import io
import socket
import threading
import time
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Deadline:
    at: float  # of time.monotonic()

    def left(self) -> float:
        """Seconds, more than none; raises TimeoutError when there are none."""
        left = self.at - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left


def connect(host: str, port: int, deadline: Deadline) -> socket.socket:
    """To the first of the host's addresses that answers."""
    failed: OSError | None = None
    for family, kind, protocol, _, address in _look_up(host, port, deadline):
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(deadline.left())
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            failed = error
            sock.close()
        else:
            return sock
    raise failed or OSError("no address")


def _look_up(host: str, port: int, deadline: Deadline) -> list[Any]:
    """getaddrinfo knows no deadline, so it is asked in a thread; one that is still stuck at the end is left
    to the resolver's own limits."""
    answer: list[Any] = []

    def ask() -> None:
        try:
            answer.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answer.append(error)

    thread = threading.Thread(target=ask, name="look-up", daemon=True)
    thread.start()
    thread.join(deadline.left())
    if not answer:
        raise TimeoutError
    if isinstance(answer[0], Exception):
        raise answer[0]
    return list(answer[0])


class TimedSocket:
    """As much of a socket as http.client uses."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._deadline.left())
        self._sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(_Reader(self._sock, self._deadline))

    def close(self) -> None:
        self._sock.close()


class _Reader(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(self._deadline.left())
        return self._sock.recv_into(buffer)
