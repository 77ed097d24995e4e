"""The types of settings' values: how each is parsed, and what is rejected."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from msgspec import Struct

from claude_mem.model.structs import replace
from claude_mem.privacy import rules

Kind = Literal["integer", "number", "choice", "text", "list", "table", "secret"]


class ValueType(Struct, frozen=True):
    """What a setting accepts. `parse` raises ValueError or TypeError for anything else."""

    kind: Kind  # how a page shows it
    parse: Callable[[object], Any]
    allowed: str  # in words, for people
    choices: tuple[str, ...] = ()
    readable: Callable[[object], tuple[Any, int]] | None = None
    """The valid part of a value, and how many entries are invalid: for settings whose valid entries must
    apply even if others do not."""
    socket_only: bool = False
    """It names a program, an address or a key: whoever could change it could steal the user's keys, or run
    any program. So it can be changed in the file or over the worker's socket, never over the port."""


def integer(low: int, high: int) -> ValueType:
    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise TypeError
        number = int(value)
        if not low <= number <= high:
            raise ValueError
        return number

    return ValueType("integer", parse, f"a whole number from {low} to {high}")


def one_of(*allowed: str) -> ValueType:
    def parse(value: object) -> str:
        if value not in allowed:
            raise ValueError
        return str(value)

    return ValueType("choice", parse, either(allowed), allowed)


def either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _amount(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    try:
        number = float(value)
    except OverflowError:
        raise ValueError from None
    if not 0 <= number <= 1_000_000:
        raise ValueError
    return number


def _text(value: object) -> str | None:
    if not isinstance(value, str):
        raise TypeError
    if _has_control(value.strip()) or any("\ud800" <= letter < "\udc80" for letter in value):
        raise ValueError  # and half letters; a path may hold bytes that are no text
    return value.strip() or None


def _has_control(text: str) -> bool:
    """Whether it contains control characters: a line break in a URL could begin a header; terminals obey
    others."""
    return any(letter < " " or "\x7f" <= letter < "\xa0" or letter in "\u2028\u2029" for letter in text)


def _url(value: object) -> str | None:
    address = _text(value)
    if address is not None:
        if not re.match(r"https?://[^/\s]+", address):
            raise ValueError
        _ = urlsplit(address).port  # raises ValueError: it is parsed when the port is read
    return address


def _database_url(value: object) -> str | None:
    address = _text(value)
    if address is None:
        return None
    parts = urlsplit(address)
    # A password's own @, /, % and space are written as %40, %2F, %25 and %20: else a part of it is taken for
    # the server's name, and shown.
    is_torn = parts.netloc.count("@") > 1 or "@" in parts.path + parts.query + parts.fragment
    if (
        parts.scheme not in ("postgresql", "postgres")
        or is_torn
        or re.search(r"%(?![0-9A-Fa-f]{2})|\s", address)
    ):
        raise ValueError
    return address


def _embedder(value: object) -> str | None:
    """`static`, a URL, a folder (absolute, or from ~) or `owner/model`."""
    name = _text(value)
    if name is None or name == "static" or name.startswith(("/", "~/")):
        return name
    if "://" in name:
        return _url(name)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name, re.ASCII):
        raise ValueError
    return name


def _words(value: object) -> tuple[str, ...]:
    """A JSON list of strings, or a comma-separated string."""
    found, unreadable = rules.globs(value)
    if unreadable:
        raise TypeError
    if any(map(_has_control, found)):
        raise ValueError
    return found


def _patterns(value: object) -> tuple[tuple[str, str], ...]:
    found, unreadable = rules.patterns(value)
    if unreadable:
        raise ValueError
    return found


def text(allowed: str) -> ValueType:
    return ValueType("text", _text, allowed)


def url(example: str) -> ValueType:
    return ValueType("text", _url, f"a URL such as {example}", socket_only=True)


def globs(example: str) -> ValueType:
    return ValueType("list", _words, f"a list {example}", readable=rules.globs)


AMOUNT = ValueType("number", _amount, "a number from 0 to 1000000")
BYTES = replace(
    integer(1 << 20, 1 << 40), allowed="a whole number from 1048576 (1 MiB) to 1099511627776 (1 TiB)"
)
DATABASE_URL = ValueType(
    "secret",
    _database_url,
    "postgresql://user:password@host/database, with the password percent-encoded",
    socket_only=True,
)
EMBEDDER = ValueType(
    "text",
    _embedder,
    "static, a name such as BAAI/bge-small-en-v1.5, an absolute path, or a URL",
    socket_only=True,
)
FOLDERS = ValueType("list", _words, 'a list such as ["~/.claude/projects"], or a comma-separated string')
KEY = ValueType("secret", _text, "a key", socket_only=True)
LANGUAGE = text("a language's name, such as Deutsch")
MODE = text("the name of a mode")
MODEL = text("a model's name")
NAMES = ValueType(
    "list", lambda value: frozenset(_words(value)), "a list of tool names, or a comma-separated string"
)
ON_OFF = one_of("on", "off")
PROGRAM = ValueType("text", _text, "a path", socket_only=True)
TABLE = ValueType(
    "table", _patterns, 'an object such as {"employee-id": "E[0-9]{6}"}', readable=rules.patterns
)
TOKENS = integer(0, 1_000_000_000)
