"""How memory stands at a glance: cheap enough to be asked at every redraw of a status line.

Starts nothing, writes nothing, and waits for the worker for an eighth of a second.
"""

from __future__ import annotations

import _socket
import posix
import time

from claude_mem.hook import paths, pause, spool_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WITHIN_S = 0.125
NO_DISK = 16 << 20  # bytes; with less it counts as full
MOST_BYTES = 1 << 20
ASK = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

AWAKE, ASLEEP, BUSY = "awake", "asleep", "busy"


class Glance:
    """What is seen. Numbers are None where nobody could say."""

    def __init__(self) -> None:
        self.paused: str | None = None  # by what: the variable, or the path of a switch
        self.since: float | None = None  # in seconds of the epoch
        self.problem: str | None = None  # why nothing is recorded, although it should be
        self.worker = ASLEEP
        self.queued = 0  # events that are not memory yet
        self.parked = 0
        self.observer: str | None = None  # who makes memory of it
        self.hindered: str | None = None  # why what is recorded does not become memory
        self.spent_up = False
        self.tokens: int | None = None  # today's
        self.usd: float | None = None


def look(environ: dict[bytes, bytes], session: str) -> Glance:
    """Changes into the data directory, if there is one."""
    seen = Glance()
    if paths.is_off(environ):
        seen.paused = "CLAUDE_MEM_OFF"
        return seen
    try:
        posix.chdir(paths.data_directory(environ))
    except FileNotFoundError:
        return seen  # the first hook makes it
    except OSError as error:
        seen.problem = error.strerror
        return seen
    if paths.is_there(paths.OFF):
        _look_at_switches(seen, session)
    seen.problem = _problem()
    seen.queued = _ledger()[1]
    _ask(seen)
    return seen


def _look_at_switches(seen: Glance, session: str) -> None:
    for switch in (pause.ALL, pause.path(session)) if session else (pause.ALL,):
        if paths.is_there(switch):
            seen.paused = switch
            seen.since = _since(switch)
            return


def _since(switch: str) -> float | None:
    try:
        return posix.lstat(switch).st_mtime
    except OSError:
        return None  # it cannot be looked at, and so counts as set


def _problem() -> str | None:
    here = posix.stat(".")
    if here.st_uid != posix.geteuid():
        return "the data directory is not yours"
    disk = posix.statvfs(".")
    if disk.f_flag & posix.ST_RDONLY or not posix.access(".", posix.W_OK):
        return "the data directory cannot be written"
    if disk.f_blocks and disk.f_bavail * disk.f_frsize < NO_DISK:
        return "disk full"
    _, files, size, most_files, most_bytes = _ledger()
    return "the spool is full" if files >= most_files or size >= most_bytes else None


def _ledger() -> tuple[int, int, int, int, int]:
    try:
        fd = posix.open(paths.LEDGER, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NOFOLLOW)
    except OSError:
        return spool_writer.parse_ledger(b"")
    try:
        return spool_writer.parse_ledger(posix.pread(fd, 256, 0))
    finally:
        posix.close(fd)


def _ask(seen: Glance) -> None:
    try:
        health = _health(time.monotonic() + WITHIN_S)
    except (FileNotFoundError, ConnectionRefusedError):
        return
    except (OSError, ValueError):
        seen.worker = BUSY
        return
    seen.worker = AWAKE
    queue, observer = health.get("queue") or {}, health.get("observer") or {}
    seen.queued = sum(queue.get(name) or 0 for name in ("spooled", "ready", "leased"))
    seen.parked = queue.get("parked") or 0
    seen.observer = observer.get("provider")
    seen.hindered = health.get("reason") or observer.get("paused")
    seen.spent_up = bool(observer.get("spentUp"))
    today = observer.get("spentToday") or {}
    seen.tokens, seen.usd = today.get("tokens"), today.get("usd")


def _health(deadline: float) -> dict[str, Any]:
    """Raises OSError, also ValueError, when nobody answers in time, or not as the worker does."""
    import json

    from claude_mem.cli.bridge.exchange import parse

    sock = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        sock.settimeout(WITHIN_S)
        sock.connect(paths.WORKER_SOCK)
        sock.sendall(ASK)
        said = b""
        while len(said) < MOST_BYTES:
            sock.settimeout(max(0.001, deadline - time.monotonic()))
            part = sock.recv(64 << 10)
            if not part:
                break
            said += part
    finally:
        sock.close()
    reply = parse(said)
    found = json.loads(reply.body) if reply and reply.status == 200 else None
    if not isinstance(found, dict):
        raise ConnectionError("not an answer of the worker's")
    return found
