"""How a tool's use is shown to a person: all it was given and all it answered, as lines."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from claude_mem.cli.columns import verbatim, width

PARTS = (("tool_input", "Input"), ("tool_response", "Output"))


def sections(result: dict[str, Any], columns: int) -> Iterator[list[str]]:
    """What an answer repeats of what was asked is said once."""
    said: set[str] = set()
    for name, label in PARTS:
        value = _parsed(result.get(name))
        if lines := _told(value, columns, 4, frozenset(said)):
            yield [f"  {label}:", *lines]
        said |= _strings(value)


def _parsed(text: object) -> Any:
    """Kept as JSON; what was cut, or never was any, is shown as it is."""
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return text


def _told(value: Any, columns: int, depth: int, said: frozenset[str]) -> list[str]:
    depth = min(depth, columns // 2)
    if isinstance(value, dict):
        if isinstance(value.get("lines"), list) and "oldStart" in value:
            return _hunk(value, columns, depth)
        return [line for key in value for line in _field(str(key), value[key], columns, depth, said)]
    if isinstance(value, list):
        return [line for item in value for line in _told(item, columns, depth, said)]
    return [] if value is None or value in said else verbatim(_text(value), columns, " " * depth)


def _field(key: str, value: Any, columns: int, depth: int, said: frozenset[str]) -> list[str]:
    inner = _told(value, columns, depth + 2, said)
    if isinstance(value, dict | list) or not inner:
        return [f"{' ' * depth}{key}:", *inner] if inner else []
    line = f"{' ' * depth}{key}: {inner[0].strip()}"
    return [line] if len(inner) == 1 and width(line) <= columns else [f"{' ' * depth}{key}:", *inner]


def _hunk(hunk: dict[str, Any], columns: int, depth: int) -> list[str]:
    """As a diff has it."""
    where = " ".join(f"{sign}{hunk.get(f'{one}Start')},{hunk.get(f'{one}Lines')}" for sign, one in _SIDES)
    text = "\n".join([f"@@ {where} @@", *map(str, hunk["lines"])])
    return verbatim(text, columns, " " * depth)


_SIDES = (("-", "old"), ("+", "new"))


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _strings(value: Any) -> set[str]:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return {text for item in inner for text in _strings(item)}
    return {value} if isinstance(value, str) else set()
