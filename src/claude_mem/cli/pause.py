"""What is paused, and pausing it: the switches in the data directory that hooks look at."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from claude_mem.capture import off, places
from claude_mem.cli.command import UsageError
from claude_mem.model.session import OPEN
from claude_mem.serve import control, whole

SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
"""Set by the client for whatever it runs."""
WITHIN_S = 1.0


@dataclass(frozen=True, slots=True)
class Paused:
    """Since when, in seconds of the epoch."""

    everything: float | None = None  # None: it is not
    sessions: tuple[tuple[str, float], ...] = ()  # those that are by themselves, the newest first

    def since(self, session: str | None) -> float | None:
        """Since when nothing is recorded of the session."""
        return self.everything if self.everything is not None else dict(self.sessions).get(session or "")


def look(data_dir: Path) -> Paused:
    """As a hook sees it: what cannot be looked at counts as set."""
    folder = data_dir / places.OFF
    try:
        found = [(path, path.lstat().st_mtime) for path in folder.iterdir()]
    except FileNotFoundError:
        return Paused()
    except OSError:
        return Paused(everything=folder.lstat().st_mtime)
    everything = next((since for path, since in found if path == data_dir / off.ALL), None)
    sessions = [
        (_named(path), since)
        for path, since in found
        if path != data_dir / off.ALL and not path.name.startswith(".")
    ]
    return Paused(everything, tuple(sorted(sessions, key=lambda one: -one[1])))


def pause(data_dir: Path, session: str | None = None) -> bool:
    """Pause everything, or a session; False: it was. On return it holds for every hook that starts, and would
    after a power cut."""
    switch = data_dir / (off.ALL if session is None else off.path(session))
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    if data_dir.stat().st_uid != os.geteuid():
        raise PermissionError(1, "it belongs to another user", str(data_dir))
    with suppress(FileExistsError):
        switch.parent.mkdir(mode=0o700)
    if places.is_there(str(switch)):
        return False
    whole.write(switch, f"{session or ''}\n".encode(errors="replace"))
    for path in (switch, switch.parent, data_dir):
        _sync(path)
    return True


def resume(data_dir: Path, session: str | None = None) -> bool:
    """End a pause of everything, or of a session; False: there was none."""
    folder = data_dir / places.OFF
    switch = data_dir / (off.ALL if session is None else off.path(session))
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


def still_open(data_dir: Path, sessions: tuple[tuple[str, float], ...]) -> list[tuple[str, float]]:
    """Without those of which the worker knows that they have ended. One that is not running is not asked."""
    found: list[tuple[str, float]] = []
    for index, (session, since) in enumerate(sessions):
        path = f"/sessions/{quote(session, safe='', errors='replace')}/status"
        try:
            code, told = control.request(data_dir, "GET", path, deadline_s=WITHIN_S)
        except OSError:
            return [*found, *sessions[index:]]
        if code != 200 or told.get("status") in OPEN:
            found.append((session, since))
    return found


def which(named: str | None) -> str | None:
    """The session that `--session` names: None for none, empty for the one we run in. Raises UsageError."""
    if named is None:
        return None
    session = named or os.environ.get(SESSION_VARIABLE, "")
    if not session:
        raise UsageError(f"say which session: --session ID. ({SESSION_VARIABLE} is not set here.)")
    return session


def when(since: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(since))


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
