"""How things are said to a person: colour, ages, sizes, columns, and patience."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO

PATIENCE_S = 1.0
ELLIPSIS = "…"
_COLOURS = {"green": "32", "yellow": "33", "red": "31", "bold": "1", "dim": "2"}


def data(value: object) -> None:
    """Data, for programs and for people who like it raw."""
    print(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False))


def talk(sentence: str) -> None:
    print(sentence, file=sys.stderr)


class Paint:
    """Colours text, where the stream is a terminal and nobody objects."""

    def __init__(self, stream: IO[str], environ: Mapping[str, str] = os.environ) -> None:
        self.on = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"

    def __call__(self, colour: str, text: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self.on else text


@contextmanager
def patiently(sentence: str, after_s: float = PATIENCE_S) -> Iterator[None]:
    """Says on standard error what is being waited for, if it takes longer than a moment."""
    timer = threading.Timer(after_s, talk, [sentence])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def size(count: float) -> str:
    """`512 B`, `1.4 MiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{int(count)} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def many(count: int, one: str, more: str | None = None) -> str:
    """`1 event`, `2 events`."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def fit(text: str, width: int) -> str:
    """One line of at most `width` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else line[: max(0, width - 1)].rstrip() + ELLIPSIS
