"""Writes a file of memory for a person: whole or not at all, theirs alone, and never over another unasked."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from claude_mem.cli.commands import UsageError
from claude_mem.hook import paths


@contextmanager
def written(path: Path, data_dir: Path, *, force: bool) -> Iterator[IO[bytes]]:
    """To be written to; in its place once the block ends without an error. Forgetting can name it then."""
    path = path.expanduser().absolute()
    _check(path, force)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)  # left by a process of the same number that was killed just here
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor has no path
            yield file
            file.flush()
            os.fsync(fd)
        _note(data_dir, path)  # before it is there: one that is noted and missing does no harm
        _put(temporary, path, force)
    finally:
        temporary.unlink(missing_ok=True)


def _check(path: Path, force: bool) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        if not path.parent.is_dir():
            raise UsageError(f"there is no folder {path.parent}.") from None
        return
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path} is there, and no file; say another name.")
    if not force:
        raise UsageError(f"{path} is there already; --force replaces it.")


def _put(temporary: Path, path: Path, force: bool) -> None:
    if not force:
        try:
            path.hardlink_to(temporary)  # unlike a rename, it fails if somebody made the file meanwhile
        except FileExistsError:
            raise UsageError(f"{path} is there already; --force replaces it.") from None
        except OSError:
            _check(path, force)  # a file system without links
        else:
            return
    temporary.replace(path)


def _note(data_dir: Path, path: Path) -> None:
    """One JSON object a line in `exports.jsonl`."""
    line = json.dumps({"path": os.fsdecode(path), "at": int(time.time() * 1000)}) + "\n"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open(os.open(data_dir / paths.EXPORTS, flags, 0o600), "ab") as file:  # noqa: PTH123 - a descriptor
        file.write(line.encode(errors="replace"))
        file.flush()
        os.fsync(file.fileno())
