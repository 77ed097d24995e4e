"""A real worker for tests: on a data directory of its own, stopped whatever happens."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from claude_mem.model.errors import ClaudeMemError
from claude_mem.serve import control

PATIENCE_S = 60  # far more than anything takes; a hang fails instead of blocking the suite


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for another process: its doing is not ours to be notified of."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {PATIENCE_S} s")
        time.sleep(0.02)


@contextmanager
def running(data_dir: Path) -> Iterator[Path]:
    """A worker, started as a person starts it."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    before = os.environ.get("CLAUDE_MEM_DATA_DIR")
    os.environ["CLAUDE_MEM_DATA_DIR"] = str(data_dir)
    os.environ["CLAUDE_MEM_WORKER_PORT"] = str(free_port())
    try:
        control.start(data_dir)
        yield data_dir
    finally:
        os.environ.pop("CLAUDE_MEM_WORKER_PORT")
        os.environ.pop("CLAUDE_MEM_DATA_DIR")
        if before is not None:
            os.environ["CLAUDE_MEM_DATA_DIR"] = before
        finish(data_dir)


def finish(data_dir: Path) -> None:
    """No worker of this data directory is left: not a hung one, not one that a hook has only just started."""
    with suppress(ClaudeMemError, OSError):
        control.stop(data_dir)
    while left := processes(data_dir):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def processes(data_dir: Path) -> list[int]:
    """All workers of this data directory, also those that do not hold its lock (yet)."""
    mark = b"CLAUDE_MEM_DATA_DIR=" + os.fsencode(data_dir) + b"\0"
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_worker = b"claude_mem\0worker\0run" in (process / "cmdline").read_bytes()
            if is_worker and mark in (process / "environ").read_bytes() + b"\0":
                found.append(int(process.name))
    return found


def drained(data_dir: Path) -> None:
    """Wait until all that is spooled has been taken in."""
    until(lambda: not any((data_dir / "spool").glob("[0-9]*.json")), "the spool is drained")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def ask(
    port: int, method: str, path: str, body: object = None, *, token: str | None, host: str | None = None
) -> tuple[int, bytes]:
    """One request over TCP, as a browser or an integrator sends it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    headers = {"Content-Type": "application/json"} if body is not None else {}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    if host:
        headers["Host"] = host
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
