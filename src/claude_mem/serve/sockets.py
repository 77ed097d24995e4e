"""The worker's sockets: opened, and reopened if their files are deleted or replaced."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
from collections.abc import Callable, Iterable
from pathlib import Path

from starlette.types import ASGIApp

from claude_mem.files import write_file
from claude_mem.hook import paths
from claude_mem.serve.hook_socket import HookListener
from claude_mem.serve.http.guard import Guard, Key
from claude_mem.serve.http.routes import viewer_routes
from claude_mem.serve.http.server import HttpServer
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


def listen_tcp(preferred: int) -> socket.socket:
    """Listens on the preferred loopback port, otherwise on one close to it, otherwise on any."""
    for port in (*range(preferred, min(preferred + NEIGHBOURS, 65535) + 1), 0):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            # This only ignores a dead worker's lingering connections; a live listener keeps its port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Connections inherit this: a response is two writes, and the second would wait 40 ms for an
            # acknowledgment of the first. (asyncio only sets it if the socket names its protocol.)
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
    """Identifies a file, to check whether it is still the one that we created. None: there is none.

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


Listener = HttpServer | HookListener


class Listeners:
    def __init__(self, running: Running, app: ASGIApp, token: str, on_wake: Callable[[str], None]) -> None:
        self._running, self._app, self._token, self._on_wake = running, app, token, on_wake
        self._identities: dict[Path, Identity | None] = {}
        self._listeners: dict[Path | None, Listener] = {}  # by their files; None: the port
        self._mutex = asyncio.Lock()
        self._closed = False

    async def open(self) -> None:
        try:
            listener = listen_tcp(self._running.services.settings.worker_port)
        except OSError as error:
            # This sandbox has no loopback. Hooks, the command line and MCP use the Unix sockets.
            log.warning("no TCP port: %s", error.strerror)
        else:
            port = self._running.port = listener.getsockname()[1]
            key = Key(port, self._token, self._running.visitors)
            guard = Guard(
                self._app, self._running, key, open_to_all=viewer_routes.OPEN, pages=viewer_routes.LOOKED_AT
            )
            self._listeners[None] = HttpServer(guard, listener)
            await self._listeners[None].start()
        await self.heal()

    async def heal(self) -> None:
        """Recreates each file that is missing or was replaced. Raises OSError if that fails."""
        former: list[Listener] = []
        try:
            async with self._mutex:
                for path in (HOOK_SOCK, WORKER_SOCK, WORKER_JSON):
                    identity = self._identities.get(path)
                    if not self._closed and (identity is None or file_identity(path) != identity):
                        await self._make(path, former)
        finally:
            await _stop_all(former)

    async def close(self) -> None:
        """Accepts no more connections, finishes running requests, and removes the files."""
        async with self._mutex:
            self._closed = True
            for path, identity in self._identities.items():
                if file_identity(path) == identity:
                    path.unlink(missing_ok=True)
        await _stop_all(self._listeners.values())

    async def _make(self, path: Path, former: list[Listener]) -> None:
        """Creates the file and its listener; the previous listener is added to `former`."""
        if path == WORKER_JSON:
            write_file(path, self._announcement())
        else:
            listener = listen_unix(path)
            former += [self._listeners[path]] if path in self._listeners else []
            if path == HOOK_SOCK:
                face: Listener = HookListener(self._running, self._on_wake, listener)
            else:
                face = HttpServer(Guard(self._app, self._running, None), listener)
            self._listeners[path] = face
            await face.start()
        if path in self._identities:
            log.warning("%s had been deleted or replaced; it is back", path)
        self._identities[path] = file_identity(path)

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


async def _stop_all(listeners: Iterable[Listener]) -> None:
    await asyncio.gather(*(face.stop() for face in listeners))
