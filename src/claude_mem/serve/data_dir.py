"""The data directory: readable by its owner alone; the token, the notice and the pause switches in it."""

from __future__ import annotations

import errno
import logging
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from claude_mem.files import sync, write_file
from claude_mem.hook import notices, paths
from claude_mem.hook import pause as hook_pause
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
            raise DataDirRefused(root, paths.OPEN_TO_ALL)
        # The top level first: from then on, no other user can put a symlink where we are going to look.
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
    """Uses only lstat and chmod: opening and closing `worker.lock` or the database would release our locks on
    them."""
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
    """The token; a new one is created if there is none or it is invalid."""
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


class PauseState(Struct, frozen=True):
    """What is paused, and since when, in seconds since the epoch."""

    everything: float | None = None  # None: it is not
    sessions: tuple[tuple[str, float], ...] = ()  # those that are by themselves, the newest first

    def since(self, session: str | None) -> float | None:
        """Since when the session is not recorded."""
        return self.everything if self.everything is not None else dict(self.sessions).get(session or "")


def pause_state(data_dir: Path) -> PauseState:
    """The pauses as a hook sees them: a switch that cannot be read counts as set."""
    folder = data_dir / paths.OFF
    try:
        found = [(path, path.lstat().st_mtime) for path in folder.iterdir()]
    except FileNotFoundError:
        return PauseState()
    except OSError:
        return PauseState(everything=folder.lstat().st_mtime)
    everything = next((since for path, since in found if path == data_dir / hook_pause.ALL), None)
    sessions = [
        (_session_of(path), since)
        for path, since in found
        if path != data_dir / hook_pause.ALL and not path.name.startswith(".")
    ]
    return PauseState(everything, tuple(sorted(sessions, key=lambda one: -one[1])))


def pause_recording(data_dir: Path, session: str | None = None) -> bool:
    """Pause everything, or a session; False: it was. On return it holds for every hook that starts, and would
    after a power cut."""
    switch = data_dir / (hook_pause.ALL if session is None else hook_pause.path(session))
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if data_dir.stat().st_uid != os.geteuid():
        raise PermissionError(1, "it belongs to another user", str(data_dir))
    with suppress(FileExistsError):
        switch.parent.mkdir(mode=0o700)
    if paths.is_there(str(switch)):
        return False
    write_file(switch, f"{session or ''}\n".encode(errors="replace"))
    for path in (switch, switch.parent, data_dir):
        sync(path)
    return True


def resume_recording(data_dir: Path, session: str | None = None) -> bool:
    """Ends the pause of everything or of a session; False: there was none."""
    folder = data_dir / paths.OFF
    switch = data_dir / (hook_pause.ALL if session is None else hook_pause.path(session))
    if not folder.is_symlink() and folder.is_dir():
        folder.chmod(0o700)
    elif session is None:
        switch = folder  # something else is in its place; hooks take it for a switch
    try:
        switch.unlink()
    except FileNotFoundError:
        return False
    finally:
        with suppress(OSError):
            folder.rmdir()  # with nothing left in it, hooks need not look into it
    return True


def _session_of(switch: Path) -> str:
    """The session's id; the name of its switch, which is made of it, where that cannot be read."""
    try:
        return switch.read_text(encoding="utf-8", errors="replace").strip() or switch.name
    except OSError:
        return switch.name
