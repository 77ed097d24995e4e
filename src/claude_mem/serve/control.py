"""Starts, stops and queries the worker from another process. The lock identifies the worker's process."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct

from claude_mem.hook import paths, worker_link
from claude_mem.model.errors import WorkerFailed, WorkerHung
from claude_mem.serve import lock


def worker_command(*, from_hook: bool = False) -> list[str]:
    return worker_link.worker_command(sys.executable, from_hook=from_hook)


def spawn_detached(command: Sequence[str], data_dir: Path) -> int:
    """Start `command` for `data_dir`, its output in logs/start.log; returns its process id."""
    log = data_dir / paths.START_LOG
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    log.parent.mkdir(mode=0o700, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
    return os.posix_spawn(
        command[0],
        list(command),
        os.environ | {"CLAUDE_MEM_DATA_DIR": str(data_dir)},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigdef=[signal.SIGHUP, signal.SIGINT, signal.SIGTERM],
        setsigmask=[],
    )


LONGEST_ADDRESS = 100
"""A socket's path may be 108 bytes on Linux, 104 on macOS."""


def request(
    data_dir: Path, method: str, path: str, body: object = None, *, deadline_s: float = 5.0
) -> tuple[int, dict[str, object]]:
    """The status and the JSON object answered (other text as "text"). Bytes are sent as lines, each a JSON
    object. Raises OSError if the worker does not answer."""
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
            with socket_address(self._data_dir, paths.WORKER_SOCK) as path:
                self.sock.connect(path)
        except BaseException:
            self.close()
            raise


@contextmanager
def socket_address(data_dir: Path, name: str) -> Iterator[str]:
    """A path to a socket in the data directory that fits into a socket address, however long the
    directory's own path is."""
    path = str(data_dir / name)
    if len(os.fsencode(path)) <= LONGEST_ADDRESS:
        yield path
        return
    folder = os.open(data_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    current = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        if sys.platform == "linux":
            yield f"/proc/self/fd/{folder}/{name}"
        else:
            os.fchdir(folder)
            yield name
    finally:
        os.fchdir(current)
        os.close(current)
        os.close(folder)


POLL_S = 0.02
TAIL_BYTES = 2000


class WorkerStatus(Struct, frozen=True):
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
        pid = lock.worker_of(data_dir)
        if pid is None:
            return WorkerStatus("stopped")
        left = end - time.monotonic()
        if left <= 0:
            return WorkerStatus("starting" if begun else "hung", pid or None)
        begun = lock.is_starting(data_dir)  # before asking: it may open its doors in between
        try:
            code, health = request(data_dir, "GET", "/health", deadline_s=left)
        except OSError:
            time.sleep(min(POLL_S, left))  # it has just started, or just ended
            continue
        if code == 200:
            # Read with care: it may be the worker of another version.
            port, version = health.get("port"), health.get("version")
            known = (port if isinstance(port, int) else None, version if isinstance(version, str) else None)
            return WorkerStatus("running", pid or None, *known, health)
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
    child: int | None = spawn_detached(command or worker_command(), data_dir)
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
    raise WorkerFailed(_tail(data_dir / paths.START_LOG).rstrip(".") or f"no answer within {deadline_s:g} s")


def start_problem(data_dir: Path) -> str | None:
    """What the last worker said when it did not start, in one line. Of a crash only that it was one: its last
    line may quote what was captured."""
    log = _tail(data_dir / paths.START_LOG)
    if "Traceback" in log:
        return f"it crashed; see {data_dir / paths.START_LOG}"
    return log.splitlines()[-1].rstrip(".") if log else None


def stop(data_dir: Path, *, deadline_s: float = 10.0, force: bool = False) -> bool:
    """Stop the worker: by asking, by SIGTERM, by SIGKILL. False: none was running. Raises WorkerHung.

    One that is starting is waited for first, unless by `force`: a killed upgrade begins anew the next time.
    Only the lock's holder is ever signalled, as the kernel names it at that moment.
    """
    if not force and lock.is_starting(data_dir):
        _settled(data_dir)
    pid = lock.worker_of(data_dir)
    if pid is None:
        return False
    share_s = deadline_s / 3
    try:
        request(data_dir, "POST", "/api/admin/shutdown", {}, deadline_s=min(2.0, share_s))
        requested = True
    except OSError:
        requested = False
    if requested and _let_go(data_dir, pid, share_s + share_s):
        return True
    for number in (signal.SIGTERM, signal.SIGKILL):
        if not _signal(data_dir, pid, number) or _let_go(data_dir, pid, share_s):
            return True
    raise WorkerHung(pid or None)


def _settled(data_dir: Path, *, deadline_s: float = 2.0) -> WorkerStatus:
    """As `status`, but of a worker that is starting what becomes of it, within ten minutes."""
    end = time.monotonic() + lock.LONGEST_START_S
    while True:
        found = status(data_dir, deadline_s=deadline_s)
        if found.state != "starting" or time.monotonic() > end:
            return found


def _signal(data_dir: Path, pid: int, number: signal.Signals) -> bool:
    """Signals the holder if it is still `pid`; False if it is not."""
    if pid == lock.UNSEEN:
        return lock.worker_of(data_dir) == pid  # somebody holds it whom we cannot name, and so not signal
    with signalling(pid) as send:
        if lock.worker_of(data_dir) != pid:
            return False
        try:
            send(number)
            send(signal.SIGCONT)  # a stopped process would not notice SIGTERM
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # another user's; it will be seen not to let go
    return True


@contextmanager
def signalling(pid: int) -> Iterator[Callable[[signal.Signals], None]]:
    """To a process that cannot become another one between the look and the signal, where the system helps."""
    fd = -1
    if sys.platform == "linux" and hasattr(os, "pidfd_open"):
        with suppress(OSError):  # gone already, or an old kernel: the look that follows decides
            fd = os.pidfd_open(pid)

    def send(number: signal.Signals) -> None:
        if sys.platform == "linux" and fd >= 0:
            signal.pidfd_send_signal(fd, number)
        else:
            os.kill(pid, number)

    try:
        yield send
    finally:
        if fd >= 0:
            os.close(fd)


def _let_go(data_dir: Path, pid: int, within_s: float) -> bool:
    end = time.monotonic() + within_s
    while lock.worker_of(data_dir) == pid:
        if time.monotonic() > end:
            return False
        time.sleep(POLL_S)
    return True


def _tail(path: Path) -> str:
    try:
        return path.read_bytes()[-TAIL_BYTES:].decode(errors="replace").strip()
    except OSError:
        return ""
