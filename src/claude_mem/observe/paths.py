"""Decides how a file's path is written: as seen from the session's directory, with forward slashes."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable

from claude_mem.model.events import Event


def base(events: Iterable[Event]) -> str | None:
    """The directory paths are told from. An agent may step into folders below it; the outermost stays."""
    return min((event.cwd for event in events if event.cwd), key=len, default=None)


def seen_from(base: str | None, path: str, cwd: str | None = None) -> str:
    """Inside the base relative to it; outside as it is."""
    plain = _plain(path)
    if cwd and not _is_absolute(plain):
        plain = posixpath.normpath(posixpath.join(_plain(cwd), plain))
    root = _plain(base).rstrip("/") + "/" if base else ""
    inside = plain[: len(root)]
    # Windows names a folder D:\Repo in one place and d:\repo in the next.
    if root and (inside == root or (_has_drive(root) and inside.lower() == root.lower())):
        return plain[len(root) :] or "."
    return plain


def _plain(path: str) -> str:
    windows = _has_drive(path) or ("\\" in path and "/" not in path)
    return posixpath.normpath(path.replace("\\", "/") if windows else path)


def _has_drive(path: str) -> bool:
    return len(path) > 2 and path[0].isalpha() and path[1] == ":" and path[2] in "\\/"


def _is_absolute(path: str) -> bool:
    return path.startswith(("/", "~")) or _has_drive(path)
