"""Running the statements of the `.sql` files beside it by name, whatever the shape of the values."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from claude_mem.store.sqlite.storable import Value, storable

FILES = (
    "queries.sql",
    "recall.sql",
    "vectors.sql",
    "forget.sql",
    "portable.sql",
    "house.sql",
    "correct.sql",
    "viewing.sql",
)


@cache
def queries() -> dict[str, str]:
    """All of them; read once."""
    return {name: statement for file in FILES for name, statement in _named(file)}


@cache
def conditions() -> dict[str, str]:
    """The parts that lists are put together of."""
    return dict(_named("conditions.sql"))


def _named(file: str) -> Iterator[tuple[str, str]]:
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    _preface, *entries = text.split("\n-- name: ")
    for entry in entries:
        name, _purpose, statement = entry.split("\n", 2)
        yield name, statement.strip()


def execute(db: sqlite3.Connection, query: str, /, **parameters: Value) -> sqlite3.Cursor:
    try:
        return db.execute(queries()[query], parameters)
    except (UnicodeEncodeError, OverflowError):  # rare, so looked for only when SQLite has refused
        return db.execute(queries()[query], {name: storable(value) for name, value in parameters.items()})
