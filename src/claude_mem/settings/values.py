"""Reads one setting's value from JSON or from the environment's text; raises ValueError or TypeError."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

Parse = Callable[[object], Any]


def integer(low: int, high: int) -> Parse:
    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise TypeError
        number = int(value)
        if not low <= number <= high:
            raise ValueError
        return number

    return parse


def words(value: object) -> tuple[str, ...]:
    """A JSON list of strings, or one string with commas."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise TypeError
    return tuple(part.strip() for part in parts if part.strip())


def patterns(value: object) -> tuple[tuple[str, str], ...]:
    table = json.loads(value) if isinstance(value, str) else value
    if not isinstance(table, dict):
        raise TypeError
    for pattern in table.values():
        re.compile(pattern)
    return tuple(table.items())


def one_of(*allowed: str) -> Parse:
    def parse(value: object) -> str:
        if value not in allowed:
            raise ValueError
        return str(value)

    return parse


def amount(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    number = float(value)
    if not 0 <= number <= 1_000_000:
        raise ValueError
    return number


def text(value: object) -> str | None:
    if not isinstance(value, str):
        raise TypeError
    return value.strip() or None


def url(value: object) -> str | None:
    address = text(value)
    if address is not None and not re.match(r"https?://[^/\s]+", address):
        raise ValueError
    return address
