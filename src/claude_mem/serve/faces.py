"""Keeps the worker reachable: its sockets open, and healed when somebody deletes or replaces their files."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette

from claude_mem.hook import paths
from claude_mem.serve import listen, whole
from claude_mem.serve.guard import Guard, Key
from claude_mem.serve.hookline import HookLine
from claude_mem.serve.http.routes import viewer
from claude_mem.serve.services import PROTOCOL, Running, log
from claude_mem.serve.web import GRACE_S, Web

# Relative: the worker has changed into its data directory, so that no path is too long for a socket.
WORKER_SOCK = Path(paths.WORKER_SOCK)
HOOK_SOCK = Path(paths.HOOK_SOCK)
WORKER_JSON = Path(paths.WORKER_JSON)


class Faces:
    def __init__(self, running: Running, app: Starlette, token: str, on_wake: Callable[[str], None]) -> None:
        self._running, self._app, self._token, self._on_wake = running, app, token, on_wake
        self._ours: dict[Path, listen.Identity | None] = {}
        self._web: Web | None = None
        self._line: HookLine | None = None
        self._tcp: Web | None = None
        self._mutex = asyncio.Lock()
        self._closed = False

    async def open(self) -> None:
        listener = self._bind_tcp()
        if listener is not None:
            port = listener.getsockname()[1]
            self._running.port = port
            key = Key(port, self._token, self._running.visitors)
            guard = Guard(self._app, self._running, key, open_to_all=viewer.OPEN, pages=viewer.LOOKED_AT)
            self._tcp = Web(guard, listener)
            await self._tcp.start()
        await self.heal()

    async def heal(self) -> None:
        """Make anew whatever is not, or no longer, the file we made. Raises OSError where that fails."""
        former: list[Web | HookLine] = []
        try:
            async with self._mutex:
                if not self._closed:
                    await self._reopen(former)
        finally:
            await _stop_all(former)

    async def close(self) -> None:
        """Take nothing more, finish what is running, and leave no file behind."""
        async with self._mutex:
            self._closed = True
            for path, ours in self._ours.items():
                if listen.identity(path) == ours:
                    path.unlink(missing_ok=True)
        await _stop_all([face for face in (self._line, self._web, self._tcp) if face is not None])

    async def _reopen(self, former: list[Web | HookLine]) -> None:
        """Puts the faces that were replaced into `former`."""
        if self._is_gone(HOOK_SOCK):
            listener = listen.unix(HOOK_SOCK)
            former += [self._line] if self._line else []
            self._line = HookLine(self._running, self._on_wake)
            await self._line.start(listener)
            self._remember(HOOK_SOCK)
        if self._is_gone(WORKER_SOCK):
            listener = listen.unix(WORKER_SOCK)
            former += [self._web] if self._web else []
            self._web = Web(Guard(self._app, self._running, None), listener)
            await self._web.start()
            self._remember(WORKER_SOCK)
        if self._is_gone(WORKER_JSON):
            whole.write(WORKER_JSON, self._announcement())
            self._remember(WORKER_JSON)

    def _bind_tcp(self) -> socket.socket | None:
        try:
            return listen.tcp(self._running.services.settings.worker_port)
        except OSError as error:
            # No loopback in this sandbox. Hooks, the command line and MCP come by the sockets.
            log.warning("no TCP port: %s", error.strerror)
            return None

    def _is_gone(self, path: Path) -> bool:
        ours = self._ours.get(path)
        return ours is None or listen.identity(path) != ours

    def _remember(self, path: Path) -> None:
        if path in self._ours:
            log.warning("%s had been deleted or replaced; it is back", path)
        self._ours[path] = listen.identity(path)

    def _announcement(self) -> bytes:
        parts, running = self._running.services, self._running
        return json.dumps(
            {
                "pid": running.pid,
                "port": running.port,
                "protocol": PROTOCOL,
                "version": parts.version,
                "started": parts.clock() - int(running.uptime_s * 1000),
            }
        ).encode()


async def _stop_all(faces: list[Web | HookLine]) -> None:
    await asyncio.gather(
        *(face.stop() if isinstance(face, Web) else face.stop(within_s=GRACE_S) for face in faces)
    )
