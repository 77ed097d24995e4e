"""The worker's lock: the worker of a data directory is the process that holds `worker.lock`; and whether it
is still starting.

The kernel releases the lock when its holder dies, and names the holder, so a pid in a file is never trusted.
A record lock has one pitfall: closing *any* descriptor of the file in the holding process releases it. So the
holder opens the file once, and never calls `holder` for its own lock.
"""

from __future__ import annotations

import fcntl
import json
import os
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from claude_mem.files import read_object, write_file
from claude_mem.hook import paths
from claude_mem.model.clock import now
from claude_mem.model.errors import WorkerError, WorkerFailed

UNSEEN = 0
"""The holder is in another process namespace: it exists, but the kernel has no process id for it here."""

# struct flock is type, whence, start, length, pid on Linux; start, length, pid, type, whence on macOS.
_LAYOUT, _TYPE_AT, _PID_AT = ("hhqqi4x", 0, 4) if sys.platform == "linux" else ("qqihh", 3, 2)


class LockHeld(WorkerError):
    def __init__(self, pid: int) -> None:
        self.pid = pid
        super().__init__(f"A worker is already running for this data directory (process {pid or 'unknown'}).")


class LockHandle(Struct, frozen=True):
    """The lock, while this process holds it."""

    fd: int

    def is_at(self, path: Path) -> bool:
        """Whether the locked file is still the one at `path`; a deleted file does not exclude other
        workers."""
        try:
            return os.path.samestat(os.fstat(self.fd), path.lstat())
        except FileNotFoundError:
            return False


@contextmanager
def hold(path: Path) -> Iterator[LockHandle]:
    """Hold the lock for as long as the block runs, or raise LockHeld."""
    handle = _locked(path)
    try:
        yield handle
    finally:
        os.close(handle.fd)


def worker_of(data_dir: Path) -> int | None:
    """As `holder`, of a data directory's lock."""
    return holder(data_dir / paths.WORKER_LOCK)


def holder(path: Path) -> int | None:
    """The holder's process id as the kernel knows it (or UNSEEN); None when the lock is free."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise WorkerFailed(f"{path} cannot be opened ({error.strerror})") from error
    try:
        return _holder(fd)
    finally:
        os.close(fd)


def _locked(path: Path) -> LockHandle:
    while True:
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise WorkerFailed(f"{path} cannot be opened ({error.strerror})") from error
        try:
            if _lock(fd) and (handle := LockHandle(fd)).is_at(path):
                return handle
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # the holder left, or the file was replaced, just now: look again


def _lock(fd: int) -> bool:
    try:
        fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        pid = _holder(fd)
        if pid is not None:
            raise LockHeld(pid) from None
        return False
    return True


def _holder(fd: int) -> int | None:
    question = struct.pack(_LAYOUT, *(fcntl.F_WRLCK if place == _TYPE_AT else 0 for place in range(5)))
    answer = struct.unpack(_LAYOUT, fcntl.fcntl(fd, fcntl.F_GETLK, question))
    if answer[_TYPE_AT] == fcntl.F_UNLCK:
        return None
    return max(UNSEEN, int(answer[_PID_AT]))


STARTING_FILE = "starting.json"
LONGEST_START_S = 600.0
"""A worker that takes longer counts as hung."""


def mark_starting(folder: Path, doing: str) -> None:
    """Records that the database is still being opened, which may take minutes and during which no caller is
    answered. It counts only while the worker's lock is held, and the next worker writes over it."""
    with suppress(OSError):  # a full disk: it only looks as if it hung
        write_file(folder / STARTING_FILE, json.dumps({"doing": doing, "since": now()}).encode())


def clear_starting(folder: Path) -> None:
    with suppress(OSError):  # after LONGEST_START_S it says nothing any more
        (folder / STARTING_FILE).unlink()


def is_starting(folder: Path) -> bool:
    """Whether the holder of the lock, if there is one, is still starting."""
    since = read_object(folder / STARTING_FILE).get("since")
    # In both directions, because the clock may have been set.
    return type(since) is int and abs(now() - since) < LONGEST_START_S * 1000
