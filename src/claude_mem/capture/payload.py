"""Reads a hook's payload, tolerantly: no number and no byte a client can send makes it fail."""

from __future__ import annotations

import json


def parse(text: str) -> dict[str, object] | None:
    """None when it is no JSON object."""
    try:
        value = json.loads(text.removeprefix("\ufeff"), strict=False, parse_int=integer)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def integer(digits: str) -> object:
    """Python refuses to read integers of thousands of digits; nobody needs them as numbers."""
    return int(digits) if len(digits) < 20 else digits
