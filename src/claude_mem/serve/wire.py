"""Speaks HTTP over `worker.sock`, where no token is sent: how the command line reaches the worker."""

from __future__ import annotations

import http.client
import json
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from claude_mem.hook import paths

LONGEST_ADDRESS = 100
"""A socket's path may be 108 bytes on Linux, 104 on macOS."""


def request(
    data_dir: Path, method: str, path: str, body: object = None, *, deadline_s: float = 5.0
) -> tuple[int, dict[str, object]]:
    """The status and the JSON object answered (other text as "text"). Bytes are sent as lines, each a JSON
    object. Raises OSError when nobody answers."""
    with streamed(data_dir, method, path, body, deadline_s=deadline_s) as response:
        return response.status, as_object(response.read())


@contextmanager
def streamed(
    data_dir: Path, method: str, path: str, body: object = None, *, deadline_s: float = 5.0
) -> Iterator[http.client.HTTPResponse]:
    """The answer, to be read while it comes; each piece of it within the deadline. Raises OSError."""
    connection = _Connection(data_dir, deadline_s)
    try:
        headers, content = {}, None
        if body is not None:
            lines = isinstance(body, bytes)
            headers["Content-Type"] = "application/x-ndjson" if lines else "application/json"
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(method, path, content, headers)
        yield connection.getresponse()
    except http.client.HTTPException as error:
        raise ConnectionError(f"the worker hung up: {type(error).__name__}") from error
    finally:
        connection.close()


def as_object(raw: bytes) -> dict[str, object]:
    try:
        found = json.loads(raw)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"text": raw.decode(errors="replace")}


class _Connection(http.client.HTTPConnection):
    def __init__(self, data_dir: Path, deadline_s: float) -> None:
        super().__init__("localhost", timeout=deadline_s)
        self._data_dir = data_dir

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.sock.settimeout(self.timeout)
            with address(self._data_dir, paths.WORKER_SOCK) as path:
                self.sock.connect(path)
        except BaseException:
            self.close()
            raise


@contextmanager
def address(data_dir: Path, name: str) -> Iterator[str]:
    """A path to a socket in the data directory that fits into a socket's address, however long the
    directory's own path is."""
    path = str(data_dir / name)
    if len(os.fsencode(path)) <= LONGEST_ADDRESS:
        yield path
        return
    folder = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if sys.platform == "linux":
            yield f"/proc/self/fd/{folder}/{name}"
        else:
            os.fchdir(folder)
            yield name
    finally:
        os.fchdir(here)
        os.close(here)
        os.close(folder)
