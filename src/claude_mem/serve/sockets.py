"""The worker's sockets: opened, and reopened if their files are deleted or replaced."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

from starlette.applications import Starlette

from claude_mem.atomic_write import write_file
from claude_mem.hook import paths
from claude_mem.serve.hook_socket import HookListener
from claude_mem.serve.http.guard import Guard, Key
from claude_mem.serve.http.routes import viewer
from claude_mem.serve.http.server import GRACE_S, HttpServer
from claude_mem.serve.services import BACKLOG, PROTOCOL, Running, log

LOOPBACK = "127.0.0.1"
NEIGHBOURS = 100
"""How many ports after the wanted one are tried before any free one is taken."""


def listen_unix(path: Path) -> socket.socket:
    """Listen on `path`, taking the place of whatever is there: the lock is ours, so it is stale.

    Bound under another name and moved into place: a hook finds either the old file or a listening one.
    """
    temporary = path.with_name(f".{path.name}.new")
    temporary.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(str(temporary))
        temporary.chmod(0o600)
        listener.listen(BACKLOG)
        listener.setblocking(False)
        temporary.replace(path)
    except BaseException:
        listener.close()
        temporary.unlink(missing_ok=True)
        raise
    return listener


def listen_tcp(wanted: int) -> socket.socket:
    """Listen on the wanted port of the loopback, else on one of its neighbours, else on any."""
    for port in (*range(wanted, min(wanted + NEIGHBOURS, 65535) + 1), 0):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            # Only over a dead worker's lingering connections; a living listener still keeps its port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Handed on to its connections: an answer is two writes, and the second would wait 40 ms for an
            # acknowledgement of the first. (asyncio sees to it only where a socket names its protocol.)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            listener.bind((LOOPBACK, port))
            listener.listen(BACKLOG)
        except OSError as error:
            listener.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise
        else:
            listener.setblocking(False)
            return listener
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


Identity = tuple[int, int, int]


def file_identity(path: Path) -> Identity | None:
    """Tells whether a file still is the one we made. None: there is none.

    The inode's number alone would not do: a deleted file's number goes to the next one made.
    """
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


# Relative: the worker has changed into its data directory, so that no path is too long for a socket.
WORKER_SOCK = Path(paths.WORKER_SOCK)
HOOK_SOCK = Path(paths.HOOK_SOCK)
WORKER_JSON = Path(paths.WORKER_JSON)


class Listeners:
    def __init__(self, running: Running, app: Starlette, token: str, on_wake: Callable[[str], None]) -> None:
        self._running, self._app, self._token, self._on_wake = running, app, token, on_wake
        self._ours: dict[Path, Identity | None] = {}
        self._web: HttpServer | None = None
        self._line: HookListener | None = None
        self._tcp: HttpServer | None = None
        self._mutex = asyncio.Lock()
        self._closed = False

    async def open(self) -> None:
        listener = self._bind_tcp()
        if listener is not None:
            port = listener.getsockname()[1]
            self._running.port = port
            key = Key(port, self._token, self._running.visitors)
            guard = Guard(self._app, self._running, key, open_to_all=viewer.OPEN, pages=viewer.LOOKED_AT)
            self._tcp = HttpServer(guard, listener)
            await self._tcp.start()
        await self.heal()

    async def heal(self) -> None:
        """Make anew whatever is not, or no longer, the file we made. Raises OSError where that fails."""
        former: list[HttpServer | HookListener] = []
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
                if file_identity(path) == ours:
                    path.unlink(missing_ok=True)
        await _stop_all([face for face in (self._line, self._web, self._tcp) if face is not None])

    async def _reopen(self, former: list[HttpServer | HookListener]) -> None:
        """Puts the faces that were replaced into `former`."""
        if self._is_gone(HOOK_SOCK):
            listener = listen_unix(HOOK_SOCK)
            former += [self._line] if self._line else []
            self._line = HookListener(self._running, self._on_wake)
            await self._line.start(listener)
            self._remember(HOOK_SOCK)
        if self._is_gone(WORKER_SOCK):
            listener = listen_unix(WORKER_SOCK)
            former += [self._web] if self._web else []
            self._web = HttpServer(Guard(self._app, self._running, None), listener)
            await self._web.start()
            self._remember(WORKER_SOCK)
        if self._is_gone(WORKER_JSON):
            write_file(WORKER_JSON, self._announcement())
            self._remember(WORKER_JSON)

    def _bind_tcp(self) -> socket.socket | None:
        try:
            return listen_tcp(self._running.services.settings.worker_port)
        except OSError as error:
            # No loopback in this sandbox. Hooks, the command line and MCP come by the sockets.
            log.warning("no TCP port: %s", error.strerror)
            return None

    def _is_gone(self, path: Path) -> bool:
        ours = self._ours.get(path)
        return ours is None or file_identity(path) != ours

    def _remember(self, path: Path) -> None:
        if path in self._ours:
            log.warning("%s had been deleted or replaced; it is back", path)
        self._ours[path] = file_identity(path)

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


async def _stop_all(faces: list[HttpServer | HookListener]) -> None:
    await asyncio.gather(
        *(face.stop() if isinstance(face, HttpServer) else face.stop(within_s=GRACE_S) for face in faces)
    )
