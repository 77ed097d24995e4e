"""Terminal output: results on stdout, messages and progress on stderr, text fitted to the terminal's
width."""

from __future__ import annotations

import os
import re
import sys
import time
import unicodedata
from contextlib import contextmanager

from claude_mem.cli.commands import OK, USAGE, WRONG, terminal_width

TYPE_CHECKING = False  # without typing, and json and threading when used: `version` comes this way
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import IO, Any

PATIENCE_S = 1.0
ELLIPSIS = "…"
_COLOURS = {"green": "32", "yellow": "33", "red": "31", "bold": "1", "dim": "2"}


def print_json(value: object) -> None:
    import json

    print(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False))


def result(args: argparse.Namespace, data: object, text: str, *, code: int = OK) -> int:
    """Print a command's result: with --json as JSON, else as text for people."""
    if args.json:
        print_json(data)
    else:
        print(text)
    return code


def page(found: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A list as JSON: always `items` and `next`, the cursor of the next page, whatever the worker calls
    them."""
    return {"items": found[name], "next": found.get("next")} | {
        key: value for key, value in found.items() if key not in (name, "next")
    }


def listing(
    args: argparse.Namespace,
    data: object,
    items: Sequence[Any],
    table: Callable[[Any], str],
    empty: str,
    hint: str = "",
) -> int:
    """Print a list as JSON or as a table, with a hint below it; or that it is empty."""
    if args.json:
        print_json(data)
        return OK
    if items:
        print(table(items))
    below = hint if items else empty
    if below:
        message(below)
    return OK


def missing(ids: Sequence[object]) -> int:
    """The exit code of a command on memories of which these do not exist."""
    if ids:
        message(f"claude-mem: No memory with id {', '.join(map(str, ids))}.")
    return WRONG if ids else OK


def message(sentence: str) -> None:
    print(sentence, file=sys.stderr)


class Paint:
    """Colors text if the stream is a terminal and NO_COLOR is not set."""

    def __init__(self, stream: IO[str], environ: Mapping[str, str] = os.environ) -> None:
        self.on = stream.isatty() and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"

    def __call__(self, colour: str, text: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self.on else text


@contextmanager
def waiting(sentence: str, after_s: float = PATIENCE_S) -> Iterator[None]:
    """Say on stderr what is being waited for, if it takes longer than a moment."""
    import threading

    timer = threading.Timer(after_s, message, [sentence])
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


def short_path(path: Path) -> str:
    """`~/projects/shop` instead of the absolute path."""
    home = path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) and path != home else str(path)


def plural(count: int, one: str, more: str | None = None) -> str:
    """`1 event`, `2 events`, `3 memories`."""
    more = more or (f"{one[:-1]}ies" if one.endswith(("ry", "py")) else f"{one}s")
    return f"{count:,} {one if count == 1 else more}"


WIDEST = 140
NARROWEST = 60

_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?"  # colours, cursors
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # titles, links
    r"|\x1b.?",
    re.DOTALL,
)
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn")
"""Control characters and bidirectional marks, because memory quotes text by others."""
_JOINERS = "\u200c\u200d"  # in Persian, Hindi and emoji, part of the word


def terminal() -> int:
    """The number of columns; 80 if unknown."""
    return max(NARROWEST, min(WIDEST, terminal_width()))


def clean(text: str) -> str:
    """The text without control and formatting characters; line breaks stay."""
    return "".join(
        char
        for char in _SEQUENCE.sub("", text).replace("\r\n", "\n").expandtabs(4)
        if char == "\n" or char in _JOINERS or unicodedata.category(char) not in _HIDDEN
    )


def width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_columns, text))


def fit(text: str, columns: int) -> str:
    """One line of at most this many columns."""
    line = " ".join(clean(text).split())
    return line if width(line) <= columns else line[: _cut_at(line, columns - 1)].rstrip() + ELLIPSIS


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
                cut = max(1, _cut_at(line, room))
                lines.append(line[:cut])
                line = line[cut:]
        lines.append(line)
    return [f"{indent}{line}".rstrip() for line in lines]


def verbatim(text: str, columns: int, indent: str = "") -> list[str]:
    """Like `wrap`, but preserves spaces, for code, output and prompts."""
    room = max(10, columns - len(indent))
    lines = []
    for line in clean(text).splitlines():
        rest = line.rstrip()
        while width(rest) > room:
            cut = _cut_at(rest, room)
            space = rest.rfind(" ", 0, cut + 1)
            cut = space if rest[: max(0, space)].strip() else cut
            lines.append(rest[:cut])
            rest = rest[cut:].lstrip()
        lines.append(rest)
    return [f"{indent}{line}".rstrip() for line in lines]


def _cut_at(line: str, room: int) -> int:
    used = 0
    for index, char in enumerate(line):
        used += _columns(char)
        if used > room:
            return index
    return len(line)


def _columns(char: str) -> int:
    if unicodedata.combining(char) or char in _JOINERS or unicodedata.category(char) == "Me":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


AFTER_S = 2.0
EVERY_S = 0.2


class ProgressLine:
    """Shows the progress of something that takes longer than a moment. On a terminal, one line is
    overwritten, and erased at the end; elsewhere, a line is printed once, or every `plain_every_s`."""

    def __init__(
        self, sentence: str = "", *, after_s: float = AFTER_S, plain_every_s: float | None = None
    ) -> None:
        self._sentence, self._began = sentence, time.monotonic()
        self._overwrites = sys.stderr.isatty()
        self._every_s = EVERY_S if self._overwrites else plain_every_s
        self._next_at = self._began + (after_s if self._overwrites or not plain_every_s else plain_every_s)
        self._shown = False

    @property
    def elapsed_s(self) -> float:
        return time.monotonic() - self._began

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        self.erase()

    def show(self, how_far: str) -> None:
        now = time.monotonic()
        if now < self._next_at or (self._shown and self._every_s is None):
            return
        self._shown, self._next_at = True, now + (self._every_s or 0.0)
        line = f"{self._sentence} {how_far}".lstrip()
        start, end = ("\r\x1b[K", "") if self._overwrites else ("", "\n")
        print(f"{start}{line}", end=end, file=sys.stderr, flush=True)

    def erase(self) -> None:
        if self._shown and self._overwrites:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def confirm(question: str, what: str, *, yes: bool) -> int | None:
    """None: continue. Otherwise the exit code: there is no terminal, or the answer was no."""
    if yes:
        return None
    if not sys.stdin.isatty():
        message(
            f"claude-mem: {what}, and there is no terminal to ask for confirmation. To confirm, add --yes."
        )
        return USAGE
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() in ("y", "yes"):
        return None
    message("Nothing was changed.")
    return WRONG
