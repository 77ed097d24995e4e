"""Starts, stops and asks after the worker. Who it is, the lock says; how it is, it says itself."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from claude_mem.hook import paths
from claude_mem.model.errors import WorkerFailed, WorkerHung
from claude_mem.serve import lock, spawn, starting
from claude_mem.serve.wire import as_object, request, streamed

__all__ = ["WorkerStatus", "as_object", "request", "start", "status", "stop", "streamed"]

POLL_S = 0.02
TAIL_BYTES = 2000


@dataclass(frozen=True, slots=True)
class WorkerStatus:
    state: Literal["running", "starting", "stopped", "hung"]
    pid: int | None = None
    port: int | None = None
    version: str | None = None
    health: dict[str, object] | None = None


def status(data_dir: Path, *, deadline_s: float = 2.0) -> WorkerStatus:
    """Running: it holds the lock and answers. Else it holds the lock and did not answer in time: starting, if
    it said so, or hung."""
    end = time.monotonic() + deadline_s
    begun = False
    while True:
        pid = _holder(data_dir)
        if pid is None:
            return WorkerStatus("stopped")
        left = end - time.monotonic()
        if left <= 0:
            return WorkerStatus("starting" if begun else "hung", pid or None)
        begun = starting.is_under_way(data_dir)  # before asking: it may open its doors in between
        try:
            code, health = request(data_dir, "GET", "/health", deadline_s=left)
        except OSError:
            time.sleep(min(POLL_S, left))  # it has just started, or just ended
            continue
        if code == 200:
            return _running(pid, health)
        time.sleep(min(POLL_S, left))


def start(data_dir: Path, *, deadline_s: float = 10.0, command: Sequence[str] | None = None) -> WorkerStatus:
    """Start a worker unless one is there, and wait until it answers. Raises WorkerFailed, WorkerHung.

    The deadline is extended to minutes for a worker that says it is starting.
    """
    found = _settled(data_dir)
    if found.state == "running":
        return found
    if found.state != "stopped":
        raise WorkerHung(found.pid)
    end = time.monotonic() + deadline_s
    child: int | None = spawn.detached(command or spawn.worker_command(), data_dir)
    while time.monotonic() < end:
        found = _settled(data_dir, deadline_s=max(POLL_S, end - time.monotonic()))
        if found.state == "running":
            return found
        if found.state == "stopped" and child is None:
            break  # it ended, and nobody else took the lock
        if child is not None and os.waitpid(child, os.WNOHANG)[0]:
            child = None
        time.sleep(POLL_S)
    if found.state != "stopped":
        raise WorkerHung(found.pid)
    raise WorkerFailed(_tail(data_dir / paths.START_LOG) or f"no answer within {deadline_s:g} s")


def stop(data_dir: Path, *, deadline_s: float = 10.0, force: bool = False) -> bool:
    """Stop the worker: by asking, by SIGTERM, by SIGKILL. False: none was running. Raises WorkerHung.

    One that is starting is waited for first, unless by `force`: a killed upgrade begins anew the next time.
    Only the lock's holder is ever signalled, as the kernel names it at that moment.
    """
    if not force and starting.is_under_way(data_dir):
        _settled(data_dir)
    pid = _holder(data_dir)
    if pid is None:
        return False
    share_s = deadline_s / 3
    try:
        request(data_dir, "POST", "/api/admin/shutdown", {}, deadline_s=min(2.0, share_s))
        asked = True
    except OSError:
        asked = False
    if asked and _let_go(data_dir, pid, share_s + share_s):
        return True
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _signal(data_dir, pid, number) or _let_go(data_dir, pid, share_s):
            return True
    raise WorkerHung(pid or None)


def _settled(data_dir: Path, *, deadline_s: float = 2.0) -> WorkerStatus:
    """As `status`, but of a worker that is starting what becomes of it, within ten minutes."""
    end = time.monotonic() + starting.LONGEST_S
    while True:
        found = status(data_dir, deadline_s=deadline_s)
        if found.state != "starting" or time.monotonic() > end:
            return found


def _signal(data_dir: Path, pid: int, number: signal.Signals) -> bool:
    """Signal the holder if it still is `pid`; False when it is not."""
    if pid == lock.UNSEEN:
        return _holder(data_dir) == pid  # somebody holds it whom we cannot name, and so not signal
    with _Target(pid) as send:
        if _holder(data_dir) != pid:
            return False
        try:
            send(number)
            send(signal.SIGCONT)  # a stopped process would not notice SIGTERM
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # another user's; it will be seen not to let go
    return True


class _Target:
    """A process that cannot become another one between the look and the signal, where the system helps."""

    def __init__(self, pid: int) -> None:
        self._pid, self._fd = pid, -1

    def __enter__(self) -> Callable[[signal.Signals], None]:
        if sys.platform == "linux" and hasattr(os, "pidfd_open"):
            with suppress(OSError):  # gone already, or an old kernel: the look that follows decides
                self._fd = os.pidfd_open(self._pid)
        return self._send

    def _send(self, number: signal.Signals) -> None:
        if sys.platform == "linux" and self._fd >= 0:
            signal.pidfd_send_signal(self._fd, number)
        else:
            os.kill(self._pid, number)

    def __exit__(self, *_: object) -> None:
        if self._fd >= 0:
            os.close(self._fd)


def _let_go(data_dir: Path, pid: int, within_s: float) -> bool:
    end = time.monotonic() + within_s
    while _holder(data_dir) == pid:
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)
    return True


def _holder(data_dir: Path) -> int | None:
    return lock.holder(data_dir / paths.WORKER_LOCK)


def _running(pid: int, health: dict[str, object]) -> WorkerStatus:
    port, version = health.get("port"), health.get("version")
    return WorkerStatus(
        "running",
        pid or None,
        port if isinstance(port, int) else None,
        version if isinstance(version, str) else None,
        health,
    )


def _tail(path: Path) -> str:
    try:
        return path.read_bytes()[-TAIL_BYTES:].decode(errors="replace").strip()
    except OSError:
        return ""
