"""The one clock of a running program."""

from __future__ import annotations

import time


def now() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000
