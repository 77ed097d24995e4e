"""Whether something is a record: the fields of its kind, each of its shape, none larger than what we keep."""

from __future__ import annotations

from typing import Any

from claude_mem.model.records import FIELDS, FLAG, INT, LIST, REQUIRED, TEXT
from claude_mem.store.sqlite.storable import text

LONGEST = 1 << 20  # characters of a text: far more than anything that capture keeps
MOST_ITEMS = 10_000
LATEST = 253_402_300_799_999  # the end of the year 9999
MOST = 2**31 - 1  # of anything that is counted

Fields = dict[str, Any]


class Refused(ValueError):
    """`str()` is a sentence that says what is wrong with a record."""


def checked(record: object) -> Fields:
    """All the fields of its kind: unknown ones are passed over, absent ones null or empty. Raises Refused."""
    kind = record.get("kind") if isinstance(record, dict) else None
    if not isinstance(record, dict) or not isinstance(kind, str) or kind not in FIELDS:
        raise Refused(f"It is no record: its kind is none of {', '.join(FIELDS)}.")
    fields = {name: _shaped(name, shape, record.get(name)) for name, shape in FIELDS[kind].items()}
    missing = [name for name in REQUIRED[kind] if fields[name] in (None, "")]
    if missing:
        raise Refused(f"A {kind} without {' and '.join(missing)}.")
    return fields


def _shaped(name: str, shape: str, value: object) -> object:
    if shape == LIST:
        items = [] if value is None else value
        if not isinstance(items, list) or len(items) > MOST_ITEMS:
            raise Refused(f"{name} is no list of texts.")
        return [_text(name, item) for item in items]
    if shape == FLAG:
        if value is None or isinstance(value, bool):
            return int(bool(value))
    elif value is None:
        return None
    elif shape == TEXT:
        return _text(name, value)
    elif shape == INT and isinstance(value, int) and not isinstance(value, bool):
        if not 0 <= value <= (LATEST if name.endswith("at") else MOST):
            raise Refused(f"{name} is out of bounds.")
        return value
    raise Refused(f"{name} is no {shape}.")


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise Refused(f"{name} is no text.")
    if len(value) > LONGEST:
        raise Refused(f"{name} is longer than {LONGEST:,} characters.")
    return text(value)
