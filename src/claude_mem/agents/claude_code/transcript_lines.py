"""Reads the lines of a transcript: which are used and which skipped; images are replaced by a mark.

Only one line is in memory at a time. A client that was killed during a write leaves half a line, and a power
failure leaves a run of NUL bytes. Both are only counted.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from msgspec import Struct, field

from claude_mem.model.events import TranscriptEvent

LONGEST_LINE = 64 << 20  # bytes of a line; the longest real ones hold a few images
MOST_SHOWN = 5
MOST_TYPES = 50
_TYPE_WITHIN = 512  # where a line's type is looked for without reading all of it

READ = frozenset({"user", "assistant", "system", "attachment"})
SILENT = frozenset(
    {
        *("api-request", "api-request-shape", "api-request-blob", "cost-state", "tools-used", "atis-latch"),
        *("last-prompt", "queue-operation", "mode", "permission-mode", "worktree-state", "pr-link"),
        *("custom-title", "ai-title", "agent-name", "agent-color", "agent-setting", "tag", "summary"),
        *("file-history-snapshot", "progress", "content-replacement", "result", "speculation-accept"),
    }
)
"""Types of lines without an event: bookkeeping, or a copy of something elsewhere in the file."""

_TYPE_FIRST = re.compile(rb'\s*\{\s*"type"\s*:\s*"([a-z_-]{1,40})"')
_ATTACHED = b'"attachment":{'
# What is read of the attachments, which are half of a file.
_READ_ATTACHMENTS = (b"queued_command", b'"SessionStart:')
_UUID = re.compile(r"[0-9A-Za-z_-]{1,64}")


class LineTally(Struct):
    """Counts what was read and what was skipped."""

    lines: int = 0
    unreadable: int = 0
    shown: list[tuple[int, str]] = field(default_factory=list)  # the first few: the line's number, and why
    unknown: Counter[str] = field(default_factory=Counter)  # by type: a newer client's, or no transcript's

    def lost(self, number: int, why: str) -> None:
        self.unreadable += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append((number, why))

    def count_unknown(self, type: object) -> None:
        name = type[:40] if isinstance(type, str) else "no type"
        self.unknown[name if name in self.unknown or len(self.unknown) < MOST_TYPES else "others"] += 1


class TranscriptReading(Struct):
    """A transcript that is being read, once."""

    events: Iterator[TranscriptEvent]  # raises OSError if the file cannot be opened
    tally: LineTally  # complete when all events have been read

    def __iter__(self) -> Iterator[TranscriptEvent]:
        return self.events


class Line(NamedTuple):
    number: int  # from 1
    at: int  # epoch milliseconds
    fields: dict[str, object]
    pictured: bool  # something in it may be an image

    def text(self, key: str) -> str | None:
        value = self.fields.get(key)
        return value if isinstance(value, str) and value else None

    def name(self, session: str) -> str:
        """The line's name, which is the same whenever it is read, even from a copy."""
        uuid = self.text("uuid")
        return uuid if uuid and _UUID.fullmatch(uuid) else f"{session}-{self.number}"


def read(path: Path, tally: LineTally) -> Iterator[Line]:
    """The lines that may matter, in order. A line without a time has that of the one before."""
    yield from lines(raw_lines(path, tally), int(path.stat().st_mtime * 1000), tally)


def lines(numbered: Iterable[tuple[int, bytes]], at: int, tally: LineTally) -> Iterator[Line]:
    """`at`: the time of a first line that has none."""
    for number, raw in numbered:
        if is_silent(raw, tally):
            continue
        fields = parsed(raw, number, tally)
        if fields is None:
            continue
        kind = fields.get("type")
        if not isinstance(kind, str) or kind not in READ:
            if not isinstance(kind, str) or kind not in SILENT:
                tally.count_unknown(kind)
            continue
        stamp = epoch(fields.get("timestamp"))
        at = stamp if stamp is not None else at
        yield Line(number, at, fields, b"base64" in raw or b"mimeType" in raw)


def raw_lines(path: Path, tally: LineTally) -> Iterator[tuple[int, bytes]]:
    """Every line that is not too long, with its number. A file that cannot be read further ends there."""
    with opened(path) as file:
        number = 0
        try:
            while raw := file.readline(LONGEST_LINE + 1):
                number += 1
                tally.lines += 1
                if len(raw) <= LONGEST_LINE:
                    yield number, raw
                    continue
                while raw and not raw.endswith(b"\n"):
                    raw = file.readline(1 << 20)
                tally.lost(number, f"longer than {LONGEST_LINE >> 20} MB")
        except (OSError, EOFError, zlib.error) as error:
            tally.lost(number + 1, f"the file cannot be read further: {error}")


def opened(path: Path) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.suffix == ".gz" else path.open("rb")


def is_silent(raw: bytes, tally: LineTally) -> bool:
    """Whether a line can be skipped without parsing it. Most lines can."""
    first = _TYPE_FIRST.match(raw)
    if first:
        kind = first[1].decode()
        if kind in SILENT:
            return True
        if kind not in READ:
            tally.count_unknown(kind)
            return True
    return _ATTACHED in raw[:_TYPE_WITHIN] and not any(mark in raw for mark in _READ_ATTACHMENTS)


def parsed(raw: bytes, number: int, tally: LineTally) -> dict[str, object] | None:
    """A line's object; None: an empty line, or one that is counted as lost."""
    text = raw.decode("utf-8", "replace").strip("\0 \t\r\n\N{BYTE ORDER MARK}")
    if not text:
        if b"\0" in raw:
            tally.lost(number, "only NUL bytes")
        return None
    try:
        fields = json.loads(text)
    except RecursionError:
        tally.lost(number, "nested too deeply")
    except ValueError as error:
        cut = not raw.endswith(b"\n")
        tally.lost(number, "cut off in the middle" if cut else f"not JSON: {str(error)[:80]}")
    else:
        if isinstance(fields, dict):
            return fields
        tally.lost(number, "not a JSON object")
    return None


def epoch(stamp: object) -> int | None:
    """Epoch milliseconds of a line's timestamp."""
    if not isinstance(stamp, str):
        return None
    try:
        when = datetime.fromisoformat(stamp)
        when = when if when.tzinfo else when.replace(tzinfo=UTC)
        return max(round(when.timestamp() * 1000), 0)
    except (ValueError, OverflowError):
        return None


DEEPEST_PICTURE = 32
SHORTEST_PICTURE = 200  # characters: below it, it is as well left as it is
_DATA_URL = "data:"


def without_pictures(value: object, depth: int = 0) -> object:
    """A copy with a mark in place of every image."""
    if isinstance(value, str):
        return _mark(value[5:40].partition(";")[0], value) if is_data_url(value) else value
    if depth > DEEPEST_PICTURE:
        return value
    if isinstance(value, list):
        return [without_pictures(each, depth + 1) for each in value]
    if isinstance(value, dict):
        shown = picture_label(value)
        if shown:
            return {"type": "text", "text": shown}
        kind = value.get("type") if "base64" in value else None
        return {
            key: _mark(kind, each)
            if key == "base64" and isinstance(each, str) and len(each) >= SHORTEST_PICTURE
            else without_pictures(each, depth + 1)
            for key, each in value.items()
        }
    return value


def picture_label(block: Mapping[str, object]) -> str | None:
    """The mark for a content block that is an image, in the format of the Messages API or of MCP."""
    source = block.get("source")
    holder = source if isinstance(source, Mapping) else block
    data = holder.get("data")
    kind = holder.get("media_type", holder.get("mimeType"))
    if isinstance(data, str) and isinstance(kind, str) and block.get("type") != "text":
        return _mark(kind, data)
    return None


def is_data_url(text: str) -> bool:
    return text.startswith(_DATA_URL) and len(text) >= SHORTEST_PICTURE and ";base64," in text[:100]


def _mark(kind: object, data: str) -> str:
    named = kind if isinstance(kind, str) and kind else "base64"
    sort = "image" if named.startswith("image") else "document"
    return f"[{sort}: {named[:60]}, {max(len(data) * 3 // 4 // 1000, 1)} kB]"
