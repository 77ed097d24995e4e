"""Decides what text a field of a reply holds."""

from __future__ import annotations

import re
from collections.abc import Iterable

from claude_mem.observe import tags

MOST_CHARS = 4_000
MOST_TITLE = 120

_ENTITY = re.compile(r"&(?:#[0-9]{1,7}+|#[xX][0-9a-fA-F]{1,6}+|lt|gt|amp|quot|apos);")
_NAMED = {"&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&apos;": "'"}


def plain(raw: str) -> str:
    """A field's text: entities decoded once, CDATA sections taken as they stand."""
    pieces: list[str] = []
    position = 0
    while True:
        start = raw.find(tags.CDATA, position)
        end = raw.find(tags.CDATA_END, start) if start >= 0 else -1
        if end < 0:
            pieces.append(_ENTITY.sub(_decoded, raw[position:]))
            return "".join(pieces).strip()
        pieces += (_ENTITY.sub(_decoded, raw[position:start]), raw[start + len(tags.CDATA) : end])
        position = end + len(tags.CDATA_END)


def _decoded(match: re.Match[str]) -> str:
    entity = match[0]
    if entity in _NAMED:
        return _NAMED[entity]
    code = int(entity[3:-1], 16) if entity[2] in "xX" else int(entity[2:-1])
    storable = 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF
    return chr(code) if storable else entity


def one_line(text: str) -> str:
    return " ".join(text.split())


def cut(text: str | None, most: int = MOST_CHARS) -> str | None:
    """None for no text at all."""
    if not text:
        return None
    return text if len(text) <= most else text[: most - 1] + "…"


def first(values: Iterable[str], most: int) -> tuple[str, ...]:
    """The first different ones that say something, each within its cap."""
    return tuple(cut(value) or "" for value in list(dict.fromkeys(filter(None, values)))[:most])


def first_sentence(text: str) -> str | None:
    start = text.strip().partition("\n")[0]
    ends = [at for at in (start.find(". "), start.find("。")) if at >= 0]
    return cut(one_line(start[: min(ends)] if ends else start.rstrip(".")), MOST_TITLE)


def storable(text: str) -> str:
    """SQLite takes no lone surrogates, and its shell stops at NUL."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
