"""Replaces one worker with another: a newer version takes over, or a worker that no longer answers is ended.

Handover: an upgraded hook sends its version with every wake. A worker that receives a newer version stops
between jobs and starts its own interpreter again. After an upgrade in place, that runs the new version. If it
is still the old version (two installs side by side), it finds the record of the handover and exits, and the
newer install's hooks start their own worker.

A worker that holds the lock and does not answer is ended only if that is safe, and rarely. No pid in a
file is trusted: only the lock's holder, as the kernel names it at that moment, is signaled, and only if it
belongs to this user, runs our worker in the background, has finished starting, and was not stopped by a
signal or a debugger. What it had leased returns to the queue; nothing that was accepted is lost.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from claude_mem.files import read_object, write_file
from claude_mem.hook import paths
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.text import lazy_pattern
from claude_mem.serve import control, lock
from claude_mem.serve.data_dir import leave_notice

SILENT_S = 20.0
"""How long neither socket may answer, in addition to the time that a hook or a command has already waited."""
REST_S = 600.0
"""How long no other worker is replaced: if the next one hangs too, the user must find the cause."""
POLL_S = 0.2
MODULE = "claude_mem.worker"

Refusal = Literal[
    "free", "answers", "starting", "unseen", "another user's", "stopped", "not ours", "too soon"
]


class Process(Struct, frozen=True):
    owner: int
    is_stopped: bool  # by a signal, or a debugger
    arguments: tuple[str, ...]


def process(pid: int) -> Process | None:
    """The system's information on a process; None: it is gone, or there is none."""
    try:
        return _from_proc(pid) if sys.platform == "linux" else _from_ps(pid)
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


def _from_proc(pid: int) -> Process:
    folder = Path("/proc") / str(pid)
    state = (folder / "stat").read_bytes().rpartition(b")")[2].split()[0]
    arguments = (folder / "cmdline").read_bytes().split(b"\0")
    return Process(folder.stat().st_uid, state in (b"T", b"t"), tuple(map(os.fsdecode, arguments)))


def _from_ps(pid: int) -> Process:
    command = ["/bin/ps", "-ww", "-p", str(pid), "-o", "uid=,state=,command="]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5).stdout  # noqa: S603
    owner, state, arguments = printed.split(maxsplit=2)
    return Process(int(owner), state.startswith("T"), tuple(arguments.split()))


def why_not(data_dir: Path, pid: int | None) -> Refusal | None:
    """Why the lock's holder may not be replaced, whether or not it answers; None: it may."""
    if pid is None:
        return "free"
    if (data_dir / lock.STARTING_FILE).exists():
        return "starting"  # however long it takes: killed, an upgrade would begin anew, for ever
    found = None if pid == lock.UNSEEN else process(pid)
    if found is None:
        return "unseen"
    if found.owner != os.geteuid():
        return "another user's"
    if MODULE not in found.arguments:
        return "not ours"
    return "stopped" if found.is_stopped else None


def take_place(data_dir: Path, *, silent_s: float = SILENT_S) -> int | Refusal:
    """Ends a worker that does not answer for this long. Returns its process id, or why it was not ended."""
    with _turn(data_dir) as is_mine:
        if not is_mine:
            return "too soon"
        pid = lock.worker_of(data_dir)
        refusal = why_not(data_dir, pid)
        if refusal is None and answers(data_dir, silent_s):
            refusal = "answers"
            _forget_silence(data_dir)
        # Check again that it is the same process: it may have ended, restarted or been stopped in the
        # meantime.
        refusal = refusal or why_not(data_dir, lock.worker_of(data_dir))
        if refusal is None and lock.worker_of(data_dir) != pid:
            refusal = "free"
        return refusal or _end(data_dir, pid or lock.UNSEEN)


def _end(data_dir: Path, pid: int) -> int | Refusal:
    write_file(data_dir / paths.REPLACED, b"")  # first: if it cannot be ended, nobody tries again for a while
    try:
        control.stop(data_dir, force=True)
    except ClaudeMemError:
        return "unseen"
    _forget_silence(data_dir)
    leave_notice(
        data_dir,
        f"claude-mem: the worker (process {pid}) stopped answering and was restarted. Nothing was lost. "
        "If it happens again, see: claude-mem worker logs",
    )
    return pid


def _forget_silence(data_dir: Path) -> None:
    with suppress(OSError):
        (data_dir / paths.SILENT).unlink()


def answers(data_dir: Path, within_s: float) -> bool:
    """Whether it answers anything on either socket, because it may only be slow at one task."""
    end = time.monotonic() + within_s
    while (left := end - time.monotonic()) > 0:
        share = max(0.1, left / 2)
        with suppress(OSError):
            control.request(data_dir, "GET", "/health", deadline_s=share)
            return True
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
            client.settimeout(share)
            with control.socket_address(data_dir, paths.HOOK_SOCK) as address:
                client.connect(address)
            client.sendall(b'{"type":"ask"}\n')
            if client.recv(1):
                return True
        time.sleep(POLL_S)  # a socket that is gone refuses at once; a worker makes it anew
    return False


@contextmanager
def _turn(data_dir: Path) -> Iterator[bool]:
    """Ensures that one worker is replaced at a time, and none for a while after that."""
    if _is_recent(data_dir / paths.REPLACED):
        yield False
        return
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    fd = os.open(data_dir / paths.SILENT, flags, stat.S_IRUSR | stat.S_IWUSR)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(fd)


def _is_recent(stamp: Path) -> bool:
    try:
        return abs(time.time() - stamp.stat().st_mtime) < REST_S
    except FileNotFoundError:
        return False


HONOURED_MS = 60 * 60 * 1000
"""For how long a worker started by an older hook stays away after a handover."""

_VERSION = lazy_pattern(
    r"(?P<release>\d{1,9}(?:\.\d{1,9}){0,5})"
    r"(?:(?P<stage>a|b|rc)(?P<nth>\d{1,9}))?"
    r"(?:\.post(?P<post>\d{1,9}))?(?:\.dev(?P<dev>\d{1,9}))?(?:\+[a-z0-9.]{1,40})?",
    re.ASCII,
)
_STAGES = {"a": 1, "b": 2, "rc": 3, None: 4}

Order = tuple[tuple[int, ...], int, int, int, int, int]


class Handover(Struct, frozen=True):
    to: str
    at: int  # epoch milliseconds


def version_order(version: str) -> Order | None:
    """A key that sorts versions as packaging does; None for an invalid one."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    is_dev = match["dev"] is not None
    stage = 0 if is_dev and not (match["stage"] or match["post"]) else _STAGES[match["stage"]]
    return (
        tuple(release),
        stage,
        int(match["nth"] or 0),
        int(match["post"]) + 1 if match["post"] else 0,
        0 if is_dev else 1,
        int(match["dev"] or 0),
    )


def is_newer(one: str, than: str) -> bool:
    """False if either is not a valid version."""
    first, second = version_order(one), version_order(than)
    return first is not None and second is not None and first > second


def should_hand_over(running: str, hook: str, last: Handover | None, now: int) -> bool:
    """Whether a worker of version `running` hands over after a call from a hook of version `hook`."""
    if not is_newer(hook, than=running):
        return False
    # It handed over a moment ago and runs again because the user started it, so it stays.
    return last is None or not _is_honoured(last, now) or is_newer(hook, than=last.to)


def must_yield(starting: str, last: Handover | None, now: int) -> bool:
    """Whether a worker that a hook started must exit, because a newer version took over."""
    return last is not None and _is_honoured(last, now) and is_newer(last.to, than=starting)


def _is_honoured(last: Handover, now: int) -> bool:
    return 0 <= now - last.at < HONOURED_MS


def read_handover(path: Path) -> Handover | None:
    """The last handover; None: there was none, or its record cannot be read."""
    record = read_object(path)
    to, at = record.get("to"), record.get("at")
    return Handover(to, at) if isinstance(to, str) and type(at) is int else None


def write_handover(path: Path, handover: Handover) -> None:
    write_file(path, msgspec.json.encode(handover))
