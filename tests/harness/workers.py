"""A real worker for tests: on a data directory of its own, stopped whatever happens."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from claude_mem.model.errors import ClaudeMemError
from claude_mem.serve import control
from claude_mem.settings import worker_environment

PATIENCE_S = 180  # far more than anything takes; a hang fails instead of blocking the suite
API_KEY = "key-for-the-scripted-server"


def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for another process: its doing is not ours to be notified of."""
    deadline, pause = time.monotonic() + PATIENCE_S, 0.01
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {PATIENCE_S} s")
        time.sleep(pause)
        pause = min(pause * 1.2, 0.06)  # who waits long takes little from those it waits for


@contextmanager
def running(data_dir: Path, **env: str) -> Iterator[Path]:
    """A worker, started as a person starts it, with `env` in its environment. Without a provider there, it
    observes offline: no test reaches out because of what its tester has installed."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    variables = {
        "CLAUDE_MEM_DATA_DIR": str(data_dir),
        "CLAUDE_MEM_WORKER_PORT": str(free_port()),
        "CLAUDE_MEM_PROVIDER": "offline",
    }
    with _environment(variables | env):
        worker_environment.approve(os.environ, data_dir)
        try:
            control.start(data_dir, deadline_s=PATIENCE_S)
            yield data_dir
        finally:
            finish(data_dir)


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def asking(url: str, provider: str = "anthropic", **more: str) -> dict[str, str]:
    """The environment of a worker that asks the model server at `url`."""
    return {
        "CLAUDE_MEM_PROVIDER": provider,
        "CLAUDE_MEM_BASE_URL": url if provider == "anthropic" else f"{url}/v1",
        "CLAUDE_MEM_API_KEY": API_KEY,
        "CLAUDE_MEM_MODEL": "scripted",
    } | more


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
            command = (process / "cmdline").read_bytes()
            is_worker = b"\0claude_mem.worker\0" in command or b"claude_mem\0worker\0run" in command
            if is_worker and mark in (process / "environ").read_bytes() + b"\0":
                found.append(int(process.name))
    return found


def drained(data_dir: Path) -> None:
    """Wait until all that is spooled has been taken in."""
    until(lambda: not any((data_dir / "spool").glob("[0-9]*.json")), "the spool is drained")


def settled(data_dir: Path) -> None:
    """Wait until all that is spooled has been taken in, and nothing queued is left to be observed."""
    drained(data_dir)
    until(lambda: not states(data_dir).keys() & {"ready", "leased"}, "the queue is settled")


def states(data_dir: Path) -> dict[str, int]:
    """How many queued events are in each state, read from the database itself."""
    with closing(sqlite3.connect(f"file:{data_dir / 'claude-mem.db'}?mode=ro", uri=True)) as db:
        return dict(db.execute("SELECT state, count(*) FROM pending_messages GROUP BY state").fetchall())


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
