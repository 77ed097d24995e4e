"""Binds the worker's sockets: two files only their owner can open, and a port on the loopback."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

BACKLOG = 1024
LOOPBACK = "127.0.0.1"
NEIGHBOURS = 100
"""How many ports after the wanted one are tried before any free one is taken."""


def unix(path: Path) -> socket.socket:
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


def tcp(wanted: int) -> socket.socket:
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


def identity(path: Path) -> Identity | None:
    """Tells whether a file still is the one we made. None: there is none.

    The inode's number alone would not do: a deleted file's number goes to the next one made.
    """
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns
