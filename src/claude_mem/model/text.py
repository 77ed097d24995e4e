"""Text as it is stored and shown: on one line, cut to a length, without what SQLite cannot hold."""

from __future__ import annotations

import json


def one_line(text: str, most: int | None = None) -> str:
    """Its words with single spaces between them, at most so many characters."""
    line = " ".join(text.split())
    return line if most is None or len(line) <= most else line[: most - 1].rstrip() + "…"


def storable(text: str) -> str:
    """SQLite takes no lone surrogates, and its shell stops at NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def sentence_of(error: BaseException) -> str:
    """An error's message as part of a sentence."""
    return one_line(str(error))[:200].rstrip(" .?!") or type(error).__name__


def unescaped(text: str) -> str:
    """What a JSON string says that was cut out of its quotes; if it was cut in an escape, as it is."""
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text
