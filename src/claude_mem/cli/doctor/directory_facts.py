"""What doctor checks in the file system: the data directory, its permissions, and free disk space."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

MOST_ENTRIES = 20_000  # of the data directory; a full spool holds ten times as many
MOST_NAMES = 3


class DataDirectory(Struct, frozen=True):
    path: str
    exists: bool
    obstacle: str | None = None  # why it cannot be created, if it does not exist
    is_directory: bool = True
    owner: int = 0
    me: int = 0
    writable: bool = True
    open_to_others: tuple[str, ...] = ()  # the first few
    open_count: int = 0
    foreign: tuple[str, ...] = ()  # files of other users
    filesystem: str | None = None


class Disk(Struct, frozen=True):
    free: int
    total: int


def look_at_directory(path: Path) -> DataDirectory:
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return DataDirectory(str(path), exists=False, obstacle=_obstacle(path))
    if not stat.S_ISDIR(found.st_mode):
        return DataDirectory(str(path), exists=True, is_directory=False)
    me = os.geteuid()
    open_to_others, foreign = [], []
    for name, entry in [(".", found), *_entries(path)]:
        if entry.st_uid != me:
            foreign.append(name)
        # A link has no mode of its own, and its target is not ours to check.
        elif stat.S_IMODE(entry.st_mode) & 0o077 and not stat.S_ISLNK(entry.st_mode):
            open_to_others.append(name)
    return DataDirectory(
        path=str(path),
        exists=True,
        owner=found.st_uid,
        me=me,
        writable=is_writable(path),
        open_to_others=tuple(open_to_others[:MOST_NAMES]),
        open_count=len(open_to_others),
        foreign=tuple(foreign[:MOST_NAMES]),
        filesystem=_filesystem(path),
    )


def _obstacle(path: Path) -> str | None:
    """Why a hook cannot create the directory. It creates only this one, not its parents."""
    folder = path.absolute().parent
    if path.is_symlink():
        return "is a broken link"
    if not folder.is_dir():
        return f"cannot be created: {folder} is {'not a directory' if folder.exists() else 'missing'}"
    return None if is_writable(folder) else f"cannot be created: {folder} is not writable"


def is_writable(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.W_OK | os.X_OK) and not os.statvfs(folder).f_flag & os.ST_RDONLY


def _entries(path: Path) -> Iterator[tuple[str, os.stat_result]]:
    left = MOST_ENTRIES
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            left -= 1
            if not left:
                return
            entry = Path(folder, name)
            try:
                yield str(entry.relative_to(path)), entry.lstat()
            except FileNotFoundError:
                continue  # drained in the meantime


def _filesystem(path: Path) -> str | None:
    """Its type, as the kernel names it; None where there is no /proc."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    real, best, kind = path.resolve(), Path("/"), None
    for line in mounts.splitlines():
        fields, _, rest = line.partition(" - ")
        point = Path(fields.split()[4].replace("\\040", " "))
        if real.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, rest.split()[0]
    return kind


def look_at_disk(data_dir: Path) -> Disk:
    existing = next(path for path in (data_dir, *data_dir.absolute().parents) if path.exists())
    usage = shutil.disk_usage(existing)
    return Disk(usage.free, usage.total)
