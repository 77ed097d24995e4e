"""What is paused, and pausing it: the switches in the data directory that hooks look at."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from claude_mem.files import write_file
from claude_mem.hook import paths
from claude_mem.hook import pause as hook_pause


class PauseState(Struct, frozen=True):
    """Since when, in seconds of the epoch."""

    everything: float | None = None  # None: it is not
    sessions: tuple[tuple[str, float], ...] = ()  # those that are by themselves, the newest first

    def since(self, session: str | None) -> float | None:
        """Since when nothing is recorded of the session."""
        return self.everything if self.everything is not None else dict(self.sessions).get(session or "")


def look(data_dir: Path) -> PauseState:
    """As a hook sees it: what cannot be looked at counts as set."""
    folder = data_dir / paths.OFF
    try:
        found = [(path, path.lstat().st_mtime) for path in folder.iterdir()]
    except FileNotFoundError:
        return PauseState()
    except OSError:
        return PauseState(everything=folder.lstat().st_mtime)
    everything = next((since for path, since in found if path == data_dir / hook_pause.ALL), None)
    sessions = [
        (_named(path), since)
        for path, since in found
        if path != data_dir / hook_pause.ALL and not path.name.startswith(".")
    ]
    return PauseState(everything, tuple(sorted(sessions, key=lambda one: -one[1])))


def pause(data_dir: Path, session: str | None = None) -> bool:
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
        _sync(path)
    return True


def resume(data_dir: Path, session: str | None = None) -> bool:
    """End a pause of everything, or of a session; False: there was none."""
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


def _named(switch: Path) -> str:
    """The session's id; the name of its switch, which is made of it, where that cannot be read."""
    try:
        return switch.read_text(encoding="utf-8", errors="replace").strip() or switch.name
    except OSError:
        return switch.name


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
