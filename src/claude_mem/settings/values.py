"""What values a setting takes, and how one is read from JSON or from the environment's text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["integer", "number", "choice", "text", "list", "table", "secret"]


@dataclass(frozen=True, slots=True)
class Takes:
    """What a setting takes. `parse` raises ValueError or TypeError for anything else."""

    kind: Kind  # how a page shows it
    parse: Callable[[object], Any]
    choices: tuple[str, ...] = ()


def integer(low: int, high: int) -> Takes:
    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise TypeError
        number = int(value)
        if not low <= number <= high:
            raise ValueError
        return number

    return Takes("integer", parse)


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


def one_of(*allowed: str) -> Takes:
    def parse(value: object) -> str:
        if value not in allowed:
            raise ValueError
        return str(value)

    return Takes("choice", parse, allowed)


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


AMOUNT = Takes("number", amount)
LIST = Takes("list", words)
NAMES = Takes("list", lambda value: frozenset(words(value)))
TABLE = Takes("table", patterns)
TEXT = Takes("text", text)
URL = Takes("text", url)
SECRET = Takes("secret", text)
