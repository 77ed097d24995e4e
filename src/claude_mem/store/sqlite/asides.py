"""Databases that were put aside, damaged or replaced: each a full copy, so only the last few are kept."""

from __future__ import annotations

import re
import shutil
import stat
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

DAMAGED = "quarantine"
REPLACED = "replaced"
AGAIN = "-again"
KEEP = 3
"""Of each kind."""

_NAME = re.compile(rf"({DAMAGED}|{REPLACED})-(\d{{8}}-\d{{6}})((?:{AGAIN})*)")


def outlived(names: Iterable[str]) -> list[str]:
    """Those that go: all but the newest of each kind, by the time in the name. No other name is ours."""
    ours = [match for match in map(_NAME.fullmatch, names) if match]
    ours.sort(key=lambda match: (match[2], len(match[3])), reverse=True)
    return [
        match[0] for kind in (DAMAGED, REPLACED) for match in [one for one in ours if one[1] == kind][KEEP:]
    ]


def is_ours(path: Path) -> bool:
    """A folder in which we have put a database aside."""
    return _NAME.fullmatch(path.name) is not None and _is_directory(path)


def put_at(folder: Path) -> int | None:
    """When, in epoch milliseconds, by its name."""
    match = _NAME.fullmatch(folder.name)
    try:
        at = datetime.strptime(match[2] if match else "", "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(at.timestamp() * 1000)


def remove_outlived(backups: Path) -> None:
    """What cannot be removed stays until the next time: it is no reason for a backup to fail."""
    for name in outlived(path.name for path in backups.iterdir() if _is_directory(path)):
        shutil.rmtree(backups / name, ignore_errors=True)  # removes links, does not follow them


def _is_directory(path: Path) -> bool:
    """By its own name and not by where a link leads."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False
