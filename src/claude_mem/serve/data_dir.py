"""The data directory: made its owner's alone, its small files written in one step, and the token in it."""

from __future__ import annotations

import errno
import logging
import os
import re
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from claude_mem.files import write_file
from claude_mem.hook import notices, paths
from claude_mem.model.errors import WorkerError

log = logging.getLogger("claude_mem.serve")


FOLDERS = (paths.SPOOL, paths.ASIDE, paths.PRIVATE, paths.BACKUPS, paths.LOGS)


class DataDirRefused(WorkerError):
    def __init__(self, path: Path, detail: str) -> None:
        self.path, self.detail = path, detail
        super().__init__(
            f"{path} cannot be the data directory: {detail}. Set CLAUDE_MEM_DATA_DIR to another directory."
        )


def prepare_data_dir(root: Path) -> list[str]:
    """Make the directory and its folders, 0700 and 0600 at its top; returns what was left (see `tighten`)."""
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = root.stat()
        if found.st_uid != os.getuid():
            raise DataDirRefused(root, f"it belongs to another user (id {found.st_uid})")
        if found.st_mode & stat.S_IWOTH:
            raise DataDirRefused(root, paths.open_to_all())
        # The top first: from here on no other user can put a symlink where we are about to look.
        root.chmod(0o700)
        for folder in FOLDERS:
            (root / folder).mkdir(mode=0o700, exist_ok=True)
            os.close(os.open(root / folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC))
    except OSError as error:
        which = f"{error.filename}: " if error.filename and Path(error.filename) != root else ""
        is_link = error.errno in (errno.ELOOP, errno.ENOTDIR) and Path(error.filename or "").is_symlink()
        why = "it is a symbolic link" if is_link else error.strerror or str(error)
        raise DataDirRefused(root, which + why) from error
    return [left for entry in os.scandir(root) if (left := _tighten(entry))]


def tighten_permissions(root: Path) -> list[str]:
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


_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")  # 32 random bytes


def ensure_token(path: Path) -> str:
    """The token; a new one is made if there is none, or it is not valid."""
    token = read_token(path)
    if token is None:
        token = secrets.token_urlsafe(32)
        write_file(path, token.encode() + b"\n")
    return token


def read_token(path: Path) -> str | None:
    """The token; None when the file is missing, damaged, a symlink or another user's."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    with open(fd, "rb") as file:  # noqa: PTH123 - a descriptor has no path
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            return None
        text = file.read(256).decode("ascii", "replace").strip()
    return text if _TOKEN.fullmatch(text) else None


def leave_notice(data_dir: Path, message: str) -> None:
    """To be shown at the next session start, after what was not shown yet; each once. A worker that fails in
    ever new ways leaves the newest of them."""
    path = data_dir / paths.NOTICE
    line = " ".join(message.split())[: notices.LONGEST_LINE]
    try:
        is_ours = path.is_file() and not path.is_symlink()
        waiting = path.read_text(encoding="utf-8", errors="replace").splitlines() if is_ours else []
        lines = [*(other for other in waiting if other != line), line][-notices.MOST_LINES :]
        write_file(path, "\n".join(lines).encode(errors="replace"))
    except OSError:
        log.exception("the notice could not be written: %s", message)
