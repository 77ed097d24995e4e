"""A real Chroma: in a folder, or a server on a loopback port for as long as a block runs.

chromadb is installed by `make prove` alone, so it is imported where it is used."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError

from claude_mem.model.refs import project_at, session_at

if TYPE_CHECKING:
    from claude_mem.vectors.chroma import Chroma

PATIENCE_S = 30


def chroma(folder: Path, url: str | None = None, clock: Callable[[], float] = time.monotonic) -> Chroma:
    from claude_mem.vectors.chroma import Chroma

    return Chroma(folder, url, projects=_projects, clock=clock)


def _projects(keys: Sequence[int]) -> dict[int, int]:
    """In tests of wide keys, each project has one session, of the same number."""
    return {key: project_at(key) if key >= 0 else session_at(key) for key in keys}


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port: int = free.getsockname()[1]
        return port


@contextmanager
def serving(folder: Path, port: int) -> Iterator[str]:
    command = [
        str(Path(sys.executable).with_name("chroma")),
        "run",
        "--path",
        str(folder),
        "--port",
        str(port),
    ]
    environment = os.environ | {"ANONYMIZED_TELEMETRY": "False"}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as server:
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_for(url, server)
            yield url
        finally:
            server.kill()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            with urllib.request.urlopen(f"{url}/api/v2/heartbeat", timeout=PATIENCE_S):
                return
        except (URLError, ConnectionError):
            assert server.poll() is None, "the Chroma server did not start"
            assert time.monotonic() < until, "the Chroma server did not come up"
            time.sleep(0.02)  # it says nowhere when it is ready
