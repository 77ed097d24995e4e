"""Injects real faults: system calls that fail or kill (strace), disks that are full (a small tmpfs)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def failing(syscall: str, error: str, when: str = "1+") -> list[str]:
    """A command prefix under which `syscall` fails with `error`, e.g. failing("fsync", "EIO")."""
    return _strace(syscall, f"error={error}:when={when}")


def killing(syscall: str, when: int) -> list[str]:
    """A command prefix under which the `when`th `syscall` kills the process, as kill -9 does."""
    return _strace(syscall, f"signal=SIGKILL:when={when}")


def watching(syscalls: str, log: Path) -> list[str]:
    """A command prefix under which these system calls (names with commas) are written down, a line each."""
    return [*_traced(syscalls, log)]


def _strace(syscall: str, injection: str) -> list[str]:
    return [*_traced(syscall, Path(os.devnull)), "-e", f"inject={syscall}:{injection}"]


def _traced(syscalls: str, log: Path) -> list[str]:
    strace = shutil.which("strace")
    assert strace, "strace is needed for fault tests; `make test` installs it"
    return [strace, "-f", "-qqq", "-o", str(log), "-e", f"trace={syscalls}", "-e", "signal=none"]


@contextmanager
def small_disk(at: Path, size: str = "1m") -> Iterator[Path]:
    """A disk of its own that is soon full. Needs root, as a container's tests have."""
    at.mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", str(at)], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=True)


def fill(disk: Path) -> Path:
    """Take all the space that is left; deleting the returned file gives it back."""
    hog = disk / "hog"
    with hog.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"\0" * 4096)
        except OSError:
            return hog
