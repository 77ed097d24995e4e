"""Fits text of any script into a terminal's columns, without what a terminal would obey instead of show."""

from __future__ import annotations

import re
import unicodedata

from claude_mem.cli.commands import terminal_width
from claude_mem.cli.say import ELLIPSIS

WIDEST = 140
NARROWEST = 60

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursors
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b.?",
    re.DOTALL,
)
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn")
"""Controls, and marks that turn text around: memory quotes what others wrote."""
_JOINERS = "\u200c\u200d"  # in Persian, Hindi and emoji, part of the word


def terminal() -> int:
    """How many columns there are; 80 where nobody knows."""
    return max(NARROWEST, min(WIDEST, terminal_width()))


def clean(text: str) -> str:
    """Without anything that would not show as itself; lines stay lines."""
    kept = []
    for char in _SEQUENCE.sub("", text).replace("\r\n", "\n").expandtabs(4):
        if char == "\n" or char in _JOINERS or unicodedata.category(char) not in _HIDDEN:
            kept.append(char)
    return "".join(kept)


def width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_columns, text))


def fit(text: str, columns: int) -> str:
    """One line of at most so many columns."""
    line = " ".join(clean(text).split())
    if width(line) <= columns:
        return line
    taken = used = 0
    for char in line:
        used += _columns(char)
        if used > columns - 1:
            break
        taken += 1
    return line[:taken].rstrip() + ELLIPSIS


def pad(text: str, columns: int) -> str:
    return text + " " * max(0, columns - width(text))


def wrap(text: str, columns: int, indent: str = "") -> list[str]:
    """Lines of at most so many columns, the indent included; a word that is longer is cut."""
    room = max(10, columns - len(indent))
    lines = []
    for paragraph in clean(text).splitlines():
        line = ""
        for word in paragraph.split():
            if line and width(line) + 1 + width(word) > room:
                lines.append(line)
                line = ""
            line = f"{line} {word}" if line else word
            while width(line) > room:
                cut = _cut(line, room)
                lines.append(line[:cut])
                line = line[cut:]
        lines.append(line)
    return [f"{indent}{line}".rstrip() for line in lines]


def verbatim(text: str, columns: int, indent: str = "") -> list[str]:
    """As `wrap`, with the spaces that its lines have: code, output, what somebody typed."""
    room = max(10, columns - len(indent))
    lines = []
    for line in clean(text).splitlines():
        rest = line.rstrip()
        while width(rest) > room:
            cut = _cut(rest, room)
            space = rest.rfind(" ", 0, cut + 1)
            cut = space if rest[: max(0, space)].strip() else cut
            lines.append(rest[:cut])
            rest = rest[cut:].lstrip()
        lines.append(rest)
    return [f"{indent}{line}".rstrip() for line in lines]


def _cut(line: str, room: int) -> int:
    used = 0
    for index, char in enumerate(line):
        used += _columns(char)
        if used > room:
            return max(1, index)
    return len(line)


def _columns(char: str) -> int:
    if unicodedata.combining(char) or char in _JOINERS or unicodedata.category(char) == "Me":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
