"""Finds the tags of our grammar in any text.

A scanner, not a parser: a reply is rarely well formed, and what is not a tag of ours is somebody's text. The
one pattern cannot cross a '<' and gives nothing back once matched, so every character is looked at once.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

CDATA = "<![CDATA["
CDATA_END = "]]>"

_TAG = re.compile(r"<!\[CDATA\[|<\s*+(/?+)\s*+([a-z][a-z_-]*+)([^<>]*+)>", re.IGNORECASE | re.ASCII)


@dataclass(slots=True)
class Tag:
    start: int
    end: int
    name: str  # lower case, with underscores
    closing: bool
    void: bool  # <name/>
    closed_by: int | None = None  # the index of its closing tag, when none of its name opens before that


def find(text: str, names: Collection[str]) -> list[Tag]:
    """The tags with these names in their order; what stands in a CDATA section is text."""
    found: list[Tag] = []
    skip = 0
    for match in _TAG.finditer(text):
        if match.start() < skip:
            continue
        if match[2] is None:
            # Without an end there is no section; asking again for each of a thousand openings is what would
            # make this quadratic.
            end = text.find(CDATA_END, match.end()) if skip >= 0 else -1
            skip = end + len(CDATA_END) if end >= 0 else -1
            continue
        name = match[2].lower().replace("-", "_")
        rest = match[3]
        if name in names and (not rest or rest[0].isspace() or rest[0] == "/"):
            void = rest.endswith("/") and not match[1]
            found.append(Tag(match.start(), match.end(), name, closing=bool(match[1]), void=void))
    _pair(found)
    return found


def _pair(tags: list[Tag]) -> None:
    following: dict[str, int] = {}
    for index in range(len(tags) - 1, -1, -1):
        tag = tags[index]
        if tag.void:
            continue
        after = following.get(tag.name)
        if not tag.closing and after is not None and tags[after].closing:
            tag.closed_by = after
        following[tag.name] = index
