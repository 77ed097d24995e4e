"""The clock on the wall, for adapters that are given no other."""

from __future__ import annotations

import time


def wall_clock() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000
