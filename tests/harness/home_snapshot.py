"""A snapshot of a home directory: every file with its bytes, its mode and its link target."""

from __future__ import annotations

import os
from pathlib import Path

BOOKKEEPING = (
    ".claude.json",  # the client counts its starts in it
    ".claude/plugins",  # which marketplaces and plugins it knew, and a copy of each, marked as orphaned
    ".claude/backups",  # of .claude.json
    ".claude/.last-cleanup",  # when it last looked for what is old: a session that takes long does
    ".cache",  # its logs of MCP servers
)
"""What the client writes for itself, and does not take back when it is asked to uninstall a plugin."""

Picture = dict[str, tuple[int, str | bytes | None]]


def picture(home: Path, *but: str) -> Picture:
    """All that is in a home, but for these paths and what is below them."""
    seen: Picture = {}
    for folder, folders, files in os.walk(home):
        for name in [*folders, *files]:
            path = Path(folder, name)
            if any(path == home / each or home / each in path.parents for each in but):
                continue
            holds = (
                str(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else None
            )
            seen[str(path.relative_to(home))] = (path.lstat().st_mode, holds)
    return seen
