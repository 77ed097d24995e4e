"""Time as an argument, so that a day of waiting is tested in microseconds; and the one real clock."""

from __future__ import annotations

import time
from collections.abc import Callable

# Time as an argument: a day of waiting is tested in microseconds.


Clock = Callable[[], int]
"""Epoch milliseconds, now."""


# The one clock of a running program.


def now() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000
