"""Decides what a value of somebody else's row or line means: text, a list, a number or a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from claude_mem.backfill import lines

MOST_ITEMS = 1_000
_SECONDS_UNTIL = 100_000_000_000  # as milliseconds that is 1973, as seconds the year 5138
_LATEST = 253_402_300_799_999


class Fields:
    """One row. Names and times are taken as they are; all that a person or a model wrote is cleaned."""

    def __init__(self, row: Mapping[str, object], clean: Callable[[str], str]) -> None:
        self._row, self._clean = row, clean

    def has(self, key: str) -> bool:
        return self._row.get(key) not in (None, "")

    def name(self, *keys: str) -> str:
        """The first that is there; empty: none is."""
        found = (str(self._row[key]).strip() for key in keys if self.has(key))
        return next((name for name in found if name), "")

    def text(self, key: str) -> str | None:
        value = self._row.get(key)
        if value is None or value == "":
            return None
        return self._clean(_as_text(value)).strip() or None

    def texts(self, key: str) -> list[str]:
        """A list, or JSON that is one, or a text alone."""
        cleaned = (self._clean(item).strip() for item in self._listed(key))
        return [item for item in cleaned if item][:MOST_ITEMS]

    def number(self, key: str) -> int | None:
        value = self._row.get(key)
        if isinstance(value, bool) or not isinstance(value, int):
            return None
        return value if 0 <= value <= _LATEST else None

    def at(self, *keys: str) -> int | None:
        """Epoch milliseconds: of a column beside it that holds them or seconds, or of its own text."""
        for key in keys:
            for value in (self._row.get(f"{key}_epoch"), self._row.get(key)):
                found = when(value)
                if found:
                    return found
        return None

    def _listed(self, key: str) -> list[str]:
        value = self._row.get(key)
        if isinstance(value, str) and value.lstrip().startswith("["):
            with suppress(ValueError, RecursionError):
                value = json.loads(value)
        if isinstance(value, list):
            return [_as_text(item) for item in value if item is not None]
        return [_as_text(value)] if value not in (None, "") else []


def when(value: object) -> int | None:
    """Epoch milliseconds of a number of them, or of seconds, or of a time as text."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            whole = int(value * 1000 if 0 < value < _SECONDS_UNTIL else value)
        except (ValueError, OverflowError):  # not a number, or endless
            return None
        return whole if 0 < whole <= _LATEST else None
    return lines.epoch(value)


def paths_in(row: Fields, *keys: str) -> Iterator[str]:
    """Those of its files that are named from the root on."""
    for key in keys:
        yield from (item for item in row.texts(key) if item.startswith("/"))


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return json.dumps(value, ensure_ascii=False, default=str)
