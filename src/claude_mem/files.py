"""Writes files atomically (readers see the old content or the new, never a part of it); and reads JSON files,
even if they are damaged."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


def write_file(path: Path, content: bytes) -> None:
    """Replace `path`, readable by its owner alone. Not synced: for what can be made again."""
    with atomic_file(path) as file:
        file.write(content)


def read_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; {}: there is no such file, or it holds something else."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def atomic_file(
    path: Path, *, mode: int = 0o600, durable: bool = False, overwrite: bool = True
) -> Iterator[IO[bytes]]:
    """A file that is renamed to `path` when the block ends without an error. A link at that path is replaced,
    never followed. `durable`: it is synced before it is renamed. Without `overwrite`, raises FileExistsError
    if the file was created in the meantime."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    _remove_left_over(path)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor has no path
            yield file
            file.flush()
            if mode != 0o600:
                os.fchmod(fd, mode)
            if durable:
                os.fsync(fd)
        if overwrite:
            temporary.replace(path)
        else:
            _link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """A file, or a directory's list of names, is on the disk: else a power cut can forget a rename."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_left_over(path: Path) -> None:
    """What processes left that were killed while they wrote this file, one of this number included."""
    for temporary in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        pid = temporary.name.split(".")[-2]
        if pid.isdecimal() and not _is_another(int(pid)):
            temporary.unlink(missing_ok=True)


def _is_another(pid: int) -> bool:
    """Whether another process with this id is running."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return pid != os.getpid()


def _link(temporary: Path, path: Path) -> None:
    """Unlike a rename, a link fails if the name is taken."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(path):
            raise FileExistsError(f"{path} already exists") from None
        temporary.replace(path)
