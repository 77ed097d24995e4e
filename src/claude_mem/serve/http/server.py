"""Runs the HTTP application on one listening socket, with uvicorn.

It uses `startup()` and `shutdown()` instead of `serve()`, which would handle the signals, and wake ten times
a second to check a flag.
"""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path
from typing import cast

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from claude_mem.serve.services import BACKLOG

MOST_CONNECTIONS = 256
MOST_UNAUTHENTICATED = 192
"""The maximum number of these without a key. Beyond it, a new one replaces the one that has waited longest,
so that open connections cannot lock out other callers; the rest is reserved for connections with a key."""
KEEP_ALIVE_S = 30
HEAD_S = 10
"""The time limit for the headers of a connection's first request, from the start of the connection."""
ADMIT = "claude_mem.admit"
"""The scope's key for the function that is called when a request has shown a key."""
PATIENCE_S = 30
"""The time limit for the headers of a later request, from their first byte, and for everything else."""
MOST_HEADER_BYTES = 64 << 10
PIECE_BYTES = 16 << 10
"""Parsed at a time: as many bytes can go uncounted where one part ends and the next begins."""
GRACE_S = 4
"""How long running requests may take to finish once the worker stops."""


class HttpServer:
    """`tls`: the files of a certificate and its key."""

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        protocol: type[Bounded] | None = None,
        tls: tuple[Path, Path] | None = None,
        grace_s: int = GRACE_S,
    ) -> None:
        self._listener, self._tls = listener, tls
        self._config = uvicorn.Config(
            app,
            http=protocol or Bounded,
            ws="none",
            lifespan="off",
            interface="asgi3",
            workers=1,  # said, so that nobody's WEB_CONCURRENCY is read
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=grace_s,
            ssl_certfile=tls and tls[0],
            ssl_keyfile=tls and tls[1],
        )
        self._server = uvicorn.Server(self._config)

    async def start(self) -> None:
        self._config.load()
        self._server.lifespan = self._config.lifespan_class(self._config)
        await self._server.startup(sockets=[self._listener])

    def renew_certificate(self) -> None:
        """Connections that are made from now on see the files as they are now. Raises OSError (`ssl.SSLError`
        is one), and then goes on with what it has. Nothing, without TLS."""
        if self._tls and self._config.ssl:
            self._config.ssl.load_cert_chain(*self._tls)

    async def stop(self) -> None:
        """Accepts no more connections; lets running requests finish."""
        await self._server.shutdown(sockets=[self._listener])


class Bounded(HttpToolsProtocol):
    """No caller may use the worker's descriptors or memory up: not by many connections, slow or endless ones.

    What bounds a body is the guard, until it has answered; what bounds the pause between two requests is
    uvicorn, until a byte arrives. All else that a caller owes us is timed here, and counted.
    """

    most_connections, most_unauthenticated = MOST_CONNECTIONS, MOST_UNAUTHENTICATED

    _unparsed = 0  # bytes since headers were last complete, or a piece of a body came
    _owes_body = False
    _had_head = False
    _to_send: asyncio.TimerHandle | None = None  # what it has begun, or has yet to begin
    _to_read: asyncio.TimerHandle | None = None  # what we have answered

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        unauthenticated = self._unauthenticated
        unauthenticated[self] = None
        self._wait()
        if len(unauthenticated) > self.most_unauthenticated or len(self.connections) > self.most_connections:
            oldest = next(iter(unauthenticated))  # which may be this one
            del unauthenticated[oldest]
            oldest.transport.abort()

    @property
    def _unauthenticated(self) -> dict[Bounded, None]:
        """Connections of this server that have not shown a key, the oldest first."""
        found: dict[Bounded, None] = self.server_state.__dict__.setdefault("strangers", {})
        return found

    def _admit(self) -> None:
        self._unauthenticated.pop(self, None)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        cast(dict[str, object], self.scope)[ADMIT] = self._admit

    def connection_lost(self, exc: Exception | None) -> None:
        self._admit()
        self._wait_no_more()
        if self._to_read is not None:
            self._to_read.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        for start in range(0, len(data), PIECE_BYTES):
            if not self._owes_body:
                self._wait()
            piece = data[start : start + PIECE_BYTES]
            self._unparsed += len(piece)
            if self._unparsed > MOST_HEADER_BYTES:
                self.transport.abort()
                return
            super().data_received(piece)
            if self.transport.is_closing():  # it gets an answer that this is not HTTP, and may not read it
                self._wait()
                return

    def on_headers_complete(self) -> None:
        self._unparsed, self._owes_body, self._had_head = 0, True, True
        self._wait_no_more()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed, self._owes_body = 0, False
        self._wait_no_more()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # After a rejection, nothing reads or times the body, and the caller may never read the response.
        if self.transport.is_closing() or (self._owes_body and self.cycle.response_complete):
            self._wait()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._to_read = self.loop.call_later(PATIENCE_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._to_read is not None:
            self._to_read.cancel()
            self._to_read = None

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()  # what it has not read by now it never will

    def _wait(self) -> None:
        if self._to_send is None:
            patience = PATIENCE_S if self._had_head else HEAD_S
            self._to_send = self.loop.call_later(patience, self.transport.abort)

    def _wait_no_more(self) -> None:
        if self._to_send is not None:
            self._to_send.cancel()
            self._to_send = None
