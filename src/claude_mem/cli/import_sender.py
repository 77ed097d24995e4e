"""Sends records to be imported, in batches.

The worker has committed a batch before the next one is sent. So an import can be interrupted at any time:
what was sent stays, and sending it again changes nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from claude_mem.cli import output
from claude_mem.cli.client import request
from claude_mem.cli.commands import OK, WRONG, UsageError
from claude_mem.hook import notices
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.records import Record

IMPORT_PATH = "/api/import"
BATCH_LINES = 300
BATCH_BYTES = 1 << 20
MOST_REASONS = 1_000
REASONS_SHOWN = 20
KINDS = ("project", "session", "observation", "summary", "prompt", "event", "sighting")

Absorb = Callable[[bytes], Mapping[str, Any]]
"""Takes a batch of lines, and answers what became of each."""


class Sent(Struct):
    """The outcome of what was sent so far. `what`: what one of it is called, a record or a line of a file."""

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
        for index, why in answer["refused"]:
            self.refuse(first + index, why)

    def refuse(self, number: int, why: str) -> None:
        self.refused += 1
        if len(self.reasons) < MOST_REASONS:
            self.reasons.append((number, why))

    @property
    def code(self) -> int:
        return WRONG if self.refused else OK

    def as_data(self) -> dict[str, object]:
        return {
            "taken": dict(self.taken),
            "known": dict(self.known),
            "refused": self.refused,
            "reasons": [{self.what: number, "message": why} for number, why in sorted(self.reasons)],
        }

    def print_taken(self, verb: str) -> None:
        print(f"{verb}: {kind_counts(self.taken) or 'nothing new'}.")
        if known := kind_counts(self.known):
            print(f"Already known: {known}.")
        self.print_refused()

    def print_refused(self) -> None:
        if not self.refused:
            return
        output.message(f"Rejected: {output.plural(self.refused, self.what)}.")
        for number, why in sorted(self.reasons)[:REASONS_SHOWN]:
            output.message(f"  {self.what} {number:,}: {output.fit(why, 160)}")
        if self.refused > REASONS_SHOWN:
            output.message(f"  and {self.refused - REASONS_SHOWN:,} more; use --json to see them.")


def posted(*, own: bool) -> Absorb:
    """Has the worker absorb batches."""

    def absorb(batch: bytes) -> dict[str, Any]:
        try:
            return request("POST", IMPORT_PATH, {"own": "1" if own else None}, batch)
        except UsageError as error:  # the file is wrong, not what was typed
            raise ClaudeMemError(str(error)) from None

    return absorb


def encoded(records: Iterable[Record]) -> Iterator[bytes]:
    for record in records:
        yield json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def send(
    lines: Iterable[bytes],
    sent: Sent,
    absorb: Absorb,
    progress: output.ProgressLine,
    expected: int | None = None,
) -> Sent:
    """In batches; what became of them is added to `sent`. `expected`: about how many lines there are."""
    for batch, count in batches(lines):
        answer = absorb(batch)
        sent.add(sent.records + 1, answer)
        sent.records += count
        progress.show(pace(sent, expected, progress.elapsed_s))
    return sent


def batches(lines: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Lines together, and how many; one that is larger than a batch may be goes alone."""
    batch: list[bytes] = []
    size = 0
    for line in lines:
        if batch and (size + len(line) > BATCH_BYTES or len(batch) == BATCH_LINES):
            yield b"".join(batch), len(batch)
            batch, size = [], 0
        batch.append(line)
        size += len(line)
    if batch:
        yield b"".join(batch), len(batch)


def pace(sent: Sent, expected: int | None, took_s: float) -> str:
    """`1,500 of 4,000 records, 820/s, 3 s left`."""
    rate = sent.records / took_s if took_s > 0 else 0.0
    of = f" of {expected:,}" if expected else ""
    more = expected - sent.records if expected else 0
    left = f", {notices.age(more / rate)} left" if more > 0 and rate else ""
    return f"{sent.records:,}{of} {sent.what}s, {rate:,.0f}/s{left}"


def kind_counts(counts: Mapping[str, int]) -> str:
    """`2 sessions, 31 observations`."""
    kinds = [*KINDS, *(kind for kind in counts if kind not in KINDS)]
    return ", ".join(
        output.plural(counts[kind], kind, "summaries" if kind == "summary" else None)
        for kind in kinds
        if counts.get(kind)
    )
