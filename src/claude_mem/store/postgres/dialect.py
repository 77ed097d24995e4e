"""A statement of the shared `.sql` files, as PostgreSQL reads it.

They are written for both databases, in what both read alike but for four things: parameters, their types
where nothing but NULL shows them, lists that are given as JSON, and SQLite's hints to its planner, which
PostgreSQL does without. What needs more than that is written twice.
"""

from __future__ import annotations

import re

TEXTS = frozenset(("types", "concepts", "authors", "roots", "folders", "tool_use_ids"))
"""The lists of texts; all others are of numbers."""

_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")
_MAYBE_NULL = re.compile(r"(?<![:\w]):(\w+)(?= IS (?:NOT )?NULL\b)")
"""These are numbers, but for the texts below."""
NULLABLE_TEXTS = frozenset(("session", "project", "subtitle", "some"))
_LIST = re.compile(r"\bIN \(SELECT value FROM json_each\(:(\w+)\)\)")
_ORDERED_JOIN = re.compile(r"\bCROSS JOIN (\w+ AS \w+\s+ON\b)")
_CHOSEN_INDEX = re.compile(r" INDEXED BY \w+")
_NO_INDEX = re.compile(r"(?<=[\s(])\+(?=[a-z])")


def translated(statement: str) -> str:
    plain = _NO_INDEX.sub("", _CHOSEN_INDEX.sub("", _ORDERED_JOIN.sub(r"JOIN \1", statement)))
    typed = _MAYBE_NULL.sub(_typed, _LIST.sub(_elements, plain.replace("%", "%%")))
    return _PARAMETER.sub(r"%(\1)s", typed)


def _typed(found: re.Match[str]) -> str:
    return f"CAST(:{found[1]} AS {'text' if found[1] in NULLABLE_TEXTS else 'bigint'})"


def _elements(found: re.Match[str]) -> str:
    """An array, made before the rows are looked at: a list that is joined would be read after the rules of a
    team's database have been applied to all rows, for reading it could fail and tell of them."""
    value = "value" if found[1] in TEXTS else "CAST(value AS bigint)"
    return f"= ANY (ARRAY(SELECT {value} FROM json_array_elements_text(CAST(:{found[1]} AS json)) AS value))"  # noqa: S608 - of our own files
