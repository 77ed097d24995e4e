"""Converts values to a statement's parameters, and rows to values."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, TypeVar, get_origin

from msgspec import Struct, convert
from msgspec.structs import asdict, fields

T = TypeVar("T")
AnyStruct = TypeVar("AnyStruct", bound=Struct)
Value = str | int | float | None

_LARGEST = 2**63 - 1


def storable(value: Value) -> Value:
    """As SQLite can hold it: whatever a payload contained, accepting it never fails for its shape."""
    if isinstance(value, str):
        return text(value)
    return integer(value) if isinstance(value, int) else value


def text(value: str) -> str:
    """A lone surrogate (an invalid byte of a path, half an emoji cut off) has no UTF-8: it becomes U+FFFD."""
    return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def session_digest(session: str) -> str:
    """Identifies a forgotten session, without revealing any session's id."""
    return hashlib.sha256(text(session).encode()).hexdigest()


def integer(value: int) -> int:
    return max(-_LARGEST, min(value, _LARGEST))


def array(values: Sequence[object]) -> str:
    """A JSON array as text; non-ASCII letters stay readable and searchable."""
    return json.dumps(values, ensure_ascii=False, default=str)


def batches(values: Iterable[T], size: int) -> Iterator[list[T]]:
    rest = iter(values)
    while some := list(islice(rest, size)):
        yield some


def columns(value: Struct) -> dict[str, Any]:
    """A value's fields as parameters (those that a statement does not name are ignored); tuples as JSON."""
    return {name: array(part) if isinstance(part, tuple) else part for name, part in asdict(value).items()}


def value_of(shape: type[AnyStruct], row: Any, /, **more: object) -> AnyStruct:
    """A row as a value: of the columns those that are its fields, numbers as flags and JSON as tuples."""
    names = row.keys()
    values = {name: read(row[name]) for name, read in _readings(shape) if name in names and name not in more}
    return convert(values | more, shape)


@cache
def _readings(shape: type[Struct]) -> list[tuple[str, Callable[[Any], Any]]]:
    readings: dict[Any, Callable[[Any], Any]] = {bool: bool, tuple: _read_array}
    return [
        (each.name, readings.get(get_origin(each.type) or each.type, _as_it_is)) for each in fields(shape)
    ]


def _read_array(value: str | Sequence[str]) -> tuple[str, ...]:
    return tuple(json.loads(value) if isinstance(value, str) else value)


def _as_it_is(value: Any) -> Any:
    return value
