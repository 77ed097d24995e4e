"""Tells that a worker is still opening its database, which may take minutes: an upgrade, a check of it all.

It counts only while the worker's lock is held: what a killed worker left behind says nothing, and the next
one writes over it.
"""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

from claude_mem.serve import whole

NAME = "starting.json"
LONGEST_S = 600.0
"""A worker that takes longer hangs."""


def begin(folder: Path, doing: str) -> None:
    """Raises OSError."""
    whole.write(folder / NAME, json.dumps({"doing": doing, "since": _now()}).encode())


def end(folder: Path) -> None:
    with suppress(OSError):  # after LONGEST_S it says nothing any more
        (folder / NAME).unlink()


def is_under_way(folder: Path) -> bool:
    """Whether the holder of the lock, if there is one, is still starting."""
    try:
        record = json.loads((folder / NAME).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    since = record.get("since") if isinstance(record, dict) else None
    # Either way: the clock may have been set since.
    return type(since) is int and abs(_now() - since) < LONGEST_S * 1000


def _now() -> int:
    return time.time_ns() // 1_000_000
