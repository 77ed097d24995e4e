"""Runs the HTTP application on one listening socket, by uvicorn.

Started and shut down by its own two methods instead of `serve()`: that would take the signals, and wake ten
times a second to look at a flag.
"""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from claude_mem.serve.listen import BACKLOG

MOST_CONNECTIONS = 256
KEEP_ALIVE_S = 30
FIRST_REQUEST_S = 30
GRACE_S = 4
"""How long running requests may take to finish once the worker stops."""


class Web:
    def __init__(self, app: ASGIApp, listener: socket.socket) -> None:
        self._listener = listener
        self._config = uvicorn.Config(
            app,
            http=_Bounded,
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
            timeout_graceful_shutdown=GRACE_S,
        )
        self._server = uvicorn.Server(self._config)

    async def start(self) -> None:
        self._config.load()
        self._server.lifespan = self._config.lifespan_class(self._config)
        await self._server.startup(sockets=[self._listener])

    async def stop(self) -> None:
        """Take no more connections; let running requests finish."""
        await self._server.shutdown(sockets=[self._listener])


class _Bounded(HttpToolsProtocol):
    """Neither many connections nor silent ones may use the worker's descriptors up."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self.loop.call_later(FIRST_REQUEST_S, self._hang_up_on_silence)

    def _hang_up_on_silence(self) -> None:
        if self.cycle is None and not self.transport.is_closing():
            self.transport.close()
