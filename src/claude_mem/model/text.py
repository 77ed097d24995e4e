"""Prepares text for storage and display: on one line, cut to a length, without what SQLite cannot store."""

from __future__ import annotations

import json
import re
from typing import Any, cast


class _LazyPattern:
    """Compiles at the first use of a method, which then stays on the object."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self._source, self._flags), name)
        setattr(self, name, found)
        return found


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Compiled at first use: compiling them all on import took a tenth of the worker's start."""
    return cast("re.Pattern[str]", _LazyPattern(source, flags))


def one_line(text: str, most: int | None = None) -> str:
    """The text on one line, with single spaces, and at most this many characters."""
    line = " ".join(text.split())
    return line if most is None or len(line) <= most else line[: most - 1].rstrip() + "…"


def storable(text: str) -> str:
    """SQLite takes no lone surrogates, and its shell stops at NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def sentence_of(error: BaseException) -> str:
    """An error's message as part of a sentence."""
    return one_line(str(error))[:200].rstrip(" .?!") or type(error).__name__


def unescaped(text: str) -> str:
    """The text of a JSON string without its quotes; unchanged if it was cut within an escape."""
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text
