"""Values as SQLite can hold them: whatever a payload contained, accepting it never fails for its shape."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

Value = str | int | float | None

_LARGEST = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_INSTANT = 253_402_300_799_999  # the end of the year 9999: ISO 8601 has no fifth digit


def storable(value: Value) -> Value:
    if isinstance(value, str):
        return text(value)
    return integer(value) if isinstance(value, int) else value


def text(value: str) -> str:
    """A lone surrogate (an invalid byte of a path, half an emoji cut off) has no UTF-8: it becomes U+FFFD."""
    if value.isascii():
        return value
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def integer(value: int) -> int:
    return max(-_LARGEST, min(value, _LARGEST))


def array(values: Sequence[str]) -> str:
    """A JSON array as text; plain letters stay readable and searchable."""
    return json.dumps(values, ensure_ascii=False)


def iso(epoch_ms: int) -> str:
    """ISO 8601 in UTC to the millisecond, as JavaScript writes it."""
    at = _EPOCH + timedelta(milliseconds=max(0, min(epoch_ms, _LAST_INSTANT)))
    return at.isoformat(timespec="milliseconds")[: -len("+00:00")] + "Z"
