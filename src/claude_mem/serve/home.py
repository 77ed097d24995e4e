"""Makes the data directory its owner's alone, and says what had to be left as it was."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from claude_mem.hook import paths
from claude_mem.model.errors import WorkerError

FOLDERS = (paths.SPOOL, paths.ASIDE, paths.PRIVATE, paths.BACKUPS, paths.LOGS)


class HomeRefused(WorkerError):
    def __init__(self, path: Path, detail: str) -> None:
        self.path, self.detail = path, detail
        super().__init__(
            f"{path} cannot be the data directory: {detail}. Point CLAUDE_MEM_DATA_DIR elsewhere."
        )


def prepare(root: Path) -> list[str]:
    """Make the directory and its folders, 0700 and 0600 at its top; returns what was left (see `tighten`)."""
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = root.stat()
        if found.st_uid != os.getuid():
            raise HomeRefused(root, f"it belongs to another user (id {found.st_uid})")
        # The top first: from here on nobody else can put a symlink where we are about to look.
        root.chmod(0o700)
        for folder in FOLDERS:
            (root / folder).mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise HomeRefused(root, error.strerror or str(error)) from error
    return [left for entry in os.scandir(root) if (left := _tighten(entry))]


def tighten(root: Path) -> list[str]:
    """0700 and 0600 all the way down. Symlinks and other people's files are left, and returned with why."""
    return [left for entry in _walk(root) if (left := _tighten(entry))]


def _walk(root: Path | str) -> Iterator[os.DirEntry[str]]:
    try:
        entries = list(os.scandir(root))
    except FileNotFoundError:
        return
    for entry in entries:
        yield entry
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path)


def _tighten(entry: os.DirEntry[str]) -> str | None:
    """Only lstat and chmod: to open and close `worker.lock` or the database would drop our locks on them."""
    try:
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            return f"{entry.path} is a symlink"
        if found.st_uid != os.getuid():
            return f"{entry.path} belongs to another user (id {found.st_uid})"
        mode = 0o700 if stat.S_ISDIR(found.st_mode) else 0o600
        if stat.S_IMODE(found.st_mode) != mode:
            os.chmod(entry.path, mode)  # noqa: PTH101 - entry.path is text already
    except FileNotFoundError:
        return None  # drained or rotated while we looked
    except OSError as error:
        return f"{entry.path}: {error.strerror}"
    return None
