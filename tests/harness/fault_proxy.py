"""A proxy between two programs, which passes everything on, cuts every connection, is silent, or slow.

with FaultProxy(server_port) as proxy:
    proxy.cut()
    proxy.heal()
    assert b"secret" not in proxy.seen()
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Literal, Self

State = Literal["whole", "cut", "silent", "slow"]
PIECE = 64 << 10
SLOW_PIECE, SLOW_S = 1 << 10, 0.01
"""So much at a time, and a wait after each."""


class FaultProxy:
    def __init__(self, target: int | None = None) -> None:
        self.target = target
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._state: State = "whole"
        self._lock = threading.Condition()
        self._open: set[socket.socket] = set()
        self._seen = bytearray()
        self.connections = 0

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._accept, name="fault-proxy", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()
        self._close_all()

    def seen(self) -> bytes:
        """All that callers have sent, through it or into it."""
        with self._lock:
            return bytes(self._seen)

    def cut(self) -> None:
        self._become("cut")

    def fall_silent(self) -> None:
        """Connections are taken, and nothing is passed on."""
        self._become("silent")

    def slow_down(self) -> None:
        """Everything is passed on, a little at a time."""
        self._become("slow")

    def heal(self) -> None:
        self._become("whole")

    def wait_for_connections(self, count: int, deadline_s: float = 60) -> None:
        """So many more than when it was made."""
        with self._lock:
            assert self._lock.wait_for(lambda: self.connections >= count, deadline_s), self.connections

    def _become(self, state: State) -> None:
        with self._lock:
            self._state = state
        self._close_all()

    def _close_all(self) -> None:
        with self._lock:
            opened, self._open = self._open, set()
        for each in opened:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                caller, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                self.connections += 1
                self._lock.notify_all()
                state = self._state
                if state != "cut":
                    self._open.add(caller)
            if state == "cut":
                caller.close()
                continue
            threading.Thread(target=self._serve, args=(caller, state), daemon=True).start()

    def _serve(self, caller: socket.socket, state: State) -> None:
        if state == "silent" or self.target is None:
            self._pass_on(caller, None)
            return
        try:
            server = socket.create_connection(("127.0.0.1", self.target))
        except OSError:
            caller.close()
            return
        with self._lock:
            self._open.add(server)
        back = threading.Thread(target=self._copy, args=(server, caller, state), daemon=True)
        back.start()
        self._pass_on(caller, server, state)

    def _pass_on(self, caller: socket.socket, server: socket.socket | None, state: State = "whole") -> None:
        with suppress(OSError):
            while piece := self._read(caller, state):
                with self._lock:
                    self._seen += piece
                if server is not None:
                    server.sendall(piece)
            if server is not None:
                server.shutdown(socket.SHUT_WR)

    def _copy(self, source: socket.socket, sink: socket.socket, state: State) -> None:
        with suppress(OSError):
            while piece := self._read(source, state):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)

    def _read(self, source: socket.socket, state: State) -> bytes:
        if state != "slow":
            return source.recv(PIECE)
        threading.Event().wait(SLOW_S)
        return source.recv(SLOW_PIECE)
