"""How long things may get, and where a text that is too long is cut."""

from __future__ import annotations

import re
from collections.abc import Iterable

TITLE, SUBTITLE, FACT, NARRATIVE, FIELD, FACTS = 120, 160, 200, 900, 600, 8

_SPACE = re.compile(r"\s+")
# A full stop inside `path.go` or `v1.2` is not an end; one before a space is. CJK ends need no space.
_END = re.compile(r"(?:(?<=[^.\s][.!?])|(?<=[^.\s][.!?][)\"'”»*]))\s+|(?<=[。！？])")
_ABBREVIATED = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|z\.B|d\.h|bzw|p\.ex|п\.)|\b[A-Z])\.[)\"']?$")


def words(text: str) -> frozenset[str]:
    """A table of words, written the way it reads best."""
    return frozenset(text.split())


def one_line(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def folded(title: str) -> str:
    """For comparing titles, whole or as they are kept."""
    return clip(title, TITLE).casefold()


def clip(text: str, limit: int) -> str:
    """One line within the limit, cut between words where there are any."""
    text = one_line(text[: limit * 4 + 400])
    if len(text) <= limit:
        return text
    room = text[: limit - 1]
    space = room.rfind(" ")
    if space > limit * 2 // 3:
        room = room[:space]
    return room.rstrip(" ,;:–—-([") + "…"


def sentences(text: str) -> list[str]:
    """The sentences of one paragraph, in any script that ends them with a mark."""
    parts: list[list[str]] = []
    for piece in map(str.strip, _END.split(one_line(text))):
        if parts and _ABBREVIATED.search(parts[-1][-1]):
            parts[-1].append(piece)
        elif piece:
            parts.append([piece])
    return [" ".join(part) for part in parts]


def listed(items: Iterable[str], limit: int, more: str = "more") -> str:
    """As many as fit, comma-separated, with the number of those left out."""
    names = list(dict.fromkeys(items))
    shown: list[str] = []
    length = 0
    for name in names:
        if shown and length + len(name) + 2 > limit - (12 if len(names) > len(shown) + 1 else 0):
            break
        shown.append(name)
        length += len(name) + 2
    left = len(names) - len(shown)
    return ", ".join(shown) + (f" and {left} {more}" if left else "")


def unique(items: Iterable[str], most: int | None = None) -> tuple[str, ...]:
    """Without repetitions and empties, in their order."""
    return tuple(dict.fromkeys(item for item in items if item))[:most]


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
