"""Keeps the key to the TCP port: made once, kept over restarts, readable by its owner alone."""

from __future__ import annotations

import os
import re
import secrets
import stat
from pathlib import Path

from claude_mem.serve import whole

_TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")  # 32 random bytes


def ensure(path: Path) -> str:
    """The token, made anew when there is none worth the name."""
    token = read(path)
    if token is None:
        token = secrets.token_urlsafe(32)
        whole.write(path, token.encode() + b"\n")
    return token


def read(path: Path) -> str | None:
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
