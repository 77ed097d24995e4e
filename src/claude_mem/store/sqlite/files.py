"""Files as we keep them: for the owner's eyes only, never through a link, there after a power cut."""

from __future__ import annotations

import os
import shutil
import stat
from pathlib import Path

from claude_mem.model.errors import StoreForeign

_DRAFT = ".draft"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def is_plain(path: Path) -> bool:
    """A regular file, by its own name and not by where a link leads."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return False


def refuse_link(path: Path) -> None:
    """A link at a name of ours was put there by somebody else."""
    if path.is_symlink():
        raise StoreForeign(str(path), "it is a symbolic link")


def require_plain(path: Path) -> None:
    """A file, or nothing yet; a link, a pipe or a directory under its name is not ours to open."""
    refuse_link(path)
    if path.exists() and not is_plain(path):
        raise StoreForeign(str(path), "it is not a file")


def private_directory(path: Path) -> Path:
    """Make it if it is missing, 0700 whatever the umask."""
    refuse_link(path)
    if not path.is_dir():
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o700)
    return path


def new_file(path: Path) -> None:
    """An empty file, 0600 whatever the umask, in the place of any left over from before."""
    path.unlink(missing_ok=True)
    os.close(os.open(path, _NEW, 0o600))
    path.chmod(0o600)


def copy(source: Path, target: Path) -> None:
    """A copy that is on the disk when this returns."""
    new_file(target)
    with os.fdopen(os.open(source, os.O_RDONLY | os.O_NOFOLLOW), "rb") as from_, target.open("wb") as to:
        shutil.copyfileobj(from_, to, 1 << 20)
        to.flush()
        os.fsync(to.fileno())


def sync(path: Path) -> None:
    """A file, or a directory's list of names, is on the disk: else a power cut can forget a rename."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def draft_of(path: Path) -> Path:
    """Where a file is made until it is finished."""
    return path.with_name(path.name + _DRAFT)


def clear_drafts(path: Path) -> None:
    """What a kill has left half made."""
    draft_of(path).unlink(missing_ok=True)


def put_in_place(draft: Path, path: Path) -> None:
    """The finished draft takes the name, at once and for good."""
    sync(draft)
    draft.replace(path)
    sync(path.parent)
