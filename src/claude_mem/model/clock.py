"""The clock as an argument, so that a day of waiting is tested in microseconds; and the one real clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

DAY_MS = 24 * 60 * 60 * 1000
LAST_MS = 253_402_300_799_999
"""The end of the year 9999: ISO 8601 has no fifth digit."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Clock = Callable[[], int]
"""Epoch milliseconds, now."""


def now() -> int:
    """Epoch milliseconds."""
    return time.time_ns() // 1_000_000


def iso(epoch_ms: int) -> str:
    """ISO 8601 in UTC to the millisecond, as JavaScript writes it."""
    at = _EPOCH + timedelta(milliseconds=max(0, min(epoch_ms, LAST_MS)))
    return at.isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"
