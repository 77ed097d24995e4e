"""Sends records to the worker in batches, each of which it has committed when the next one goes out.

So it may be interrupted at any moment: what was sent is kept, and sending all of it again changes nothing.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from claude_mem.cli import say
from claude_mem.cli.columns import fit
from claude_mem.cli.commands import OK, WRONG
from claude_mem.hook import notices
from claude_mem.model.records import Record

PATH = "/api/import"
MOST_RECORDS = 500
MOST_BYTES = 1 << 20
SHOW_EVERY_S = 0.1
REASONS_KEPT = 1_000
REASONS_SHOWN = 20


@dataclass(slots=True)
class Sent:
    """What became of what was sent so far. `what`: what one of it is called, a record or a line of a file."""

    what: str = "record"
    records: int = 0
    taken: Counter[str] = field(default_factory=Counter)  # by kind
    known: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    reasons: list[tuple[int, str]] = field(default_factory=list)  # the first of them, by number from 1

    def add(self, first: int, answer: Mapping[str, Any]) -> None:
        """The worker's answer to a batch. `first`: the number of its first record."""
        self.taken.update(answer["taken"])
        self.known.update(answer["known"])
        for place, why in answer["refused"]:
            self.refuse(first + place, why)

    def refuse(self, number: int, why: str) -> None:
        self.refused += 1
        if len(self.reasons) < REASONS_KEPT:
            self.reasons.append((number, why))

    @property
    def code(self) -> int:
        return WRONG if self.refused else OK

    def shown(self) -> dict[str, object]:
        """As data."""
        return {
            "taken": dict(self.taken),
            "known": dict(self.known),
            "refused": self.refused,
            "reasons": [{self.what: number, "message": why} for number, why in sorted(self.reasons)],
        }

    def say_refused(self) -> None:
        if not self.refused:
            return
        say.talk(f"Refused: {say.many(self.refused, self.what)}.")
        for number, why in sorted(self.reasons)[:REASONS_SHOWN]:
            say.talk(f"  {self.what} {number:,}: {fit(why, 160)}")
        if self.refused > REASONS_SHOWN:
            say.talk(f"  and {self.refused - REASONS_SHOWN:,} more; --json shows them.")


def send(records: Iterable[Record], sent: Sent, *, own: bool, expected: int | None = None) -> Sent:
    """To the running worker, or one that is started. `expected`: how many records there are, about."""
    from claude_mem.cli.ask import recall

    query = {"own": "1"} if own else None
    with Progress(sys.stderr, expected) as progress:
        for batch, count in batches(records):
            sent.add(sent.records + 1, recall("POST", PATH, query, batch))
            sent.records += count
            progress.show(sent)
    return sent


def batches(records: Iterable[Record]) -> Iterator[tuple[bytes, int]]:
    """Lines of JSON, and how many; a record that is larger than a batch may be goes alone."""
    lines: list[bytes] = []
    size = 0
    for record in records:
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        if lines and (len(lines) == MOST_RECORDS or size + len(line) > MOST_BYTES):
            yield b"".join(lines), len(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield b"".join(lines), len(lines)


class Progress:
    """One line that is written over, where somebody watches."""

    def __init__(self, stream: IO[str], expected: int | None) -> None:
        self._stream, self._expected = stream, expected
        self._shown_at = 0.0
        self._began = time.monotonic()
        self._dirty = False

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._dirty:
            self._stream.write("\r\x1b[K")
            self._stream.flush()

    def show(self, sent: Sent) -> None:
        now = time.monotonic()
        if not self._stream.isatty() or now - self._shown_at < SHOW_EVERY_S:
            return
        self._shown_at, self._dirty = now, True
        self._stream.write(f"\r\x1b[K{line(sent, self._expected, now - self._began)}")
        self._stream.flush()


def line(sent: Sent, expected: int | None, took_s: float) -> str:
    """`1,500 of 4,000 records, 820/s, 3 s left`."""
    rate = sent.records / took_s if took_s > 0 else 0.0
    of = f" of {expected:,}" if expected else ""
    more = expected - sent.records if expected else 0
    left = f", {notices.age(more / rate)} left" if more > 0 and rate else ""
    return f"{sent.records:,}{of} records, {rate:,.0f}/s{left}"


def counted(counts: Mapping[str, int]) -> str:
    """`2 sessions, 31 observations`."""
    order = {kind: number for number, kind in enumerate(KINDS)}
    kinds = sorted(counts, key=lambda kind: order.get(kind, len(order)))
    return ", ".join(say.many(counts[kind], *KINDS.get(kind, (kind,))) for kind in kinds if counts[kind])


KINDS = {
    "project": ("project",),
    "session": ("session",),
    "observation": ("observation",),
    "summary": ("summary", "summaries"),
    "prompt": ("prompt",),
    "event": ("event",),
    "sighting": ("sighting",),
}
