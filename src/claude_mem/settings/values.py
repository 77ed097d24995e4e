"""What values a setting takes, and how one is read from JSON or from the environment's text."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from claude_mem.capture import rules

Kind = Literal["integer", "number", "choice", "text", "list", "table", "secret"]


@dataclass(frozen=True, slots=True)
class Takes:
    """What a setting takes. `parse` raises ValueError or TypeError for anything else."""

    kind: Kind  # how a page shows it
    parse: Callable[[object], Any]
    choices: tuple[str, ...] = ()
    readable: Callable[[object], tuple[Any, int]] | None = None
    """What can be read of a value, and how many entries cannot: where the rest must hold all the same."""


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
    found, unreadable = rules.globs(value)
    if unreadable:
        raise TypeError
    return found


def patterns(value: object) -> tuple[tuple[str, str], ...]:
    found, unreadable = rules.patterns(value)
    if unreadable:
        raise ValueError
    return found


def one_of(*allowed: str) -> Takes:
    def parse(value: object) -> str:
        if value not in allowed:
            raise ValueError
        return str(value)

    return Takes("choice", parse, allowed)


def amount(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    try:
        number = float(value)
    except OverflowError:
        raise ValueError from None
    if not 0 <= number <= 1_000_000:
        raise ValueError
    return number


def text(value: object) -> str | None:
    if not isinstance(value, str):
        raise TypeError
    if any(letter < " " or "\ud800" <= letter < "\udc80" for letter in value.strip()):
        raise ValueError  # control characters and half letters; a path may hold bytes that are no text
    return value.strip() or None


def url(value: object) -> str | None:
    address = text(value)
    if address is not None:
        if not re.match(r"https?://[^/\s]+", address):
            raise ValueError
        _ = urlsplit(address).port  # raises ValueError: it is read when the port is asked for
    return address


AMOUNT = Takes("number", amount)
LIST = Takes("list", words)
GLOBS = Takes("list", words, readable=rules.globs)
NAMES = Takes("list", lambda value: frozenset(words(value)))
TABLE = Takes("table", patterns, readable=rules.patterns)
TEXT = Takes("text", text)
URL = Takes("text", url)
SECRET = Takes("secret", text)
