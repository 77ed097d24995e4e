"""Reads the privacy rules in `settings.json`: excluded projects and files, and secret patterns.

An entry that cannot be read is skipped; all other entries apply, even if the file is not valid JSON. Hooks
and the worker both use this module, so that they apply the same rules.
"""

from __future__ import annotations

import json
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


PROJECTS = "CLAUDE_MEM_EXCLUDED_PROJECTS"
PATHS = "CLAUDE_MEM_EXCLUDE_PATHS"
PATTERNS = "CLAUDE_MEM_SECRET_PATTERNS"
_BETWEEN = " \t\r\n,:"


def table(content: bytes) -> tuple[dict[str, object], str | None]:
    """What the file says, and why it cannot be used; then the table has no more than the keys above."""
    try:
        found = json.loads(content)
    except json.JSONDecodeError as error:
        why = f"not JSON: {error.msg}, line {error.lineno}" if content.strip() else "it is empty"
        return _salvaged(content), why
    except (ValueError, RecursionError) as error:  # bytes that are no text, endless digits, endless brackets
        return _salvaged(content), "not text" if isinstance(error, UnicodeDecodeError) else "not JSON"
    return (found, None) if isinstance(found, dict) else ({}, "not a JSON object")


def globs(value: object) -> tuple[tuple[str, ...], int]:
    """The globs in a list, or in one string with commas; and how many entries cannot be read."""
    if isinstance(value, str):
        listed = _loaded(value) if value.lstrip().startswith("[") else None
        value = listed if isinstance(listed, list) else value.split(",")
    if not isinstance(value, list):
        return (), 1
    entries = [entry.strip() for entry in value if isinstance(entry, str)]
    return tuple(filter(None, entries)), len(value) - len(entries)


def patterns(value: object) -> tuple[tuple[tuple[str, str], ...], int]:
    """The regular expressions by name; and how many cannot be read."""
    if isinstance(value, str):
        value = _loaded(value) if value.strip() else {}
    if not isinstance(value, dict):
        return (), 1
    entries = tuple((name, pattern) for name, pattern in value.items() if _is_pattern(pattern))
    return entries, len(value) - len(entries)


def _is_pattern(pattern: object) -> bool:
    if not isinstance(pattern, str):
        return False
    try:
        re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def _loaded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _salvaged(content: bytes) -> dict[str, object]:
    text = content.decode(errors="replace")
    found: dict[str, object] = {}
    for key in (PROJECTS, PATHS, PATTERNS):
        before, _, after = text.rpartition(f'"{key}"')
        after = after.lstrip()
        if before and after.startswith(":"):
            found[key] = _begun(after[1:].lstrip())
    return found


def _begun(text: str) -> object:
    """The value that begins there; the complete entries, if a list or an object is cut off."""
    parsed = next(_values(text, 0), None)
    if parsed is not None or text[:1] not in ("[", "{"):
        return parsed
    entries = list(_values(text, 1))
    if text[0] == "[":
        return entries
    return {str(name): value for name, value in zip(entries[::2], entries[1::2], strict=False)}


def _values(text: str, at: int) -> Iterator[object]:
    decoder = json.JSONDecoder()
    while True:
        while at < len(text) and text[at] in _BETWEEN:
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value
