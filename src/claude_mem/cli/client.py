"""The command line's side of the worker: one way to ask it, one way to send it records in batches.

The worker has committed a batch when the next one goes out. So sending may be interrupted at any moment: what
was sent is kept, and sending all of it again changes nothing.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any, NoReturn
from urllib.parse import quote, urlencode

from claude_mem import settings
from claude_mem.cli import output
from claude_mem.cli.commands import OK, WRONG, UsageError
from claude_mem.cli.output import fit
from claude_mem.hook import notices
from claude_mem.model.errors import ClaudeMemError, WorkerHung
from claude_mem.model.records import Record
from claude_mem.serve import control
from claude_mem.settings import Settings

# The settings a command works with; what of them does not hold is said on standard error, once.


_warned: set[str] = set()


def load_settings() -> Settings:
    found = settings.load()
    for each in found.warnings:
        # Of other names `doctor` speaks: they may be another program's.
        if each.says not in _warned and (each.kind == "bad" or each.meant):
            _warned.add(each.says)
            output.message(f"claude-mem: {each.says}")
    return found


DEADLINE_S = 15.0
RECALL_WITHIN_S = 60.0
"""A first search may load a model."""
SLOW_S = 1800.0
"""What reads or rewrites all there is, and every backup of it."""


CHUNK = 64 << 10


def ask(method: str, path: str, body: object = None) -> dict[str, Any]:
    try:
        return _request(method, path, body, DEADLINE_S)
    except _NobodyAnswers:
        raise ClaudeMemError("The worker is not running. Run: claude-mem worker start") from None


def recall(
    method: str,
    path: str,
    query: Mapping[str, object] | None = None,
    body: object = None,
    *,
    within_s: float = RECALL_WITHIN_S,
) -> dict[str, Any]:
    """As `ask`; but the worker is started if none is there."""
    path = _with_query(path, query or {})
    try:
        return _request(method, path, body, within_s)
    except _NobodyAnswers:
        pass
    with output.waiting("Starting the worker ..."):
        control.start(load_settings().data_dir)
    try:
        return _request(method, path, body, within_s)
    except _NobodyAnswers:
        raise ClaudeMemError("The worker does not stay up. Look at: claude-mem worker logs") from None


def stream_lines(path: str, query: Mapping[str, object]) -> Iterator[bytes]:
    """As `recall`, of an answer that is read line by line while it comes."""
    recall("GET", "/health")  # it is there, or is started
    path = _with_query(path, query)
    try:
        with control.streamed(settings.data_directory(), "GET", path, deadline_s=RECALL_WITHIN_S) as response:
            if response.status >= 400:
                _refuse(response.status, control.as_object(response.read()))
            rest = b""
            while piece := response.read1(CHUNK):
                *lines, rest = (rest + piece).split(b"\n")
                yield from (line + b"\n" for line in lines)
    except TimeoutError:
        raise WorkerHung(control.status(settings.data_directory()).pid) from None
    except ConnectionError:
        raise ClaudeMemError("The worker ended before all was told. Try again.") from None


def quoted(text: str) -> str:
    """One part of a path, whatever it holds."""
    return quote(text, safe="", errors="replace")


def _with_query(path: str, query: Mapping[str, object]) -> str:
    said = {name: value for name, value in query.items() if value not in (None, "", [])}
    return f"{path}?{urlencode(said, doseq=True)}" if said else path


class _NobodyAnswers(Exception):
    pass


def _request(method: str, path: str, body: object, within_s: float) -> dict[str, Any]:
    data_dir = settings.data_directory()  # whatever settings.json holds
    try:
        status, answer = control.request(data_dir, method, path, body, deadline_s=within_s)
    except TimeoutError:
        raise WorkerHung(control.status(data_dir).pid) from None
    except OSError:
        raise _NobodyAnswers from None
    if status >= 400:
        _refuse(status, answer)
    return answer


def _refuse(status: int, answer: Mapping[str, object]) -> NoReturn:
    error = answer.get("error")
    error = error if isinstance(error, dict) else {"message": answer}
    if error.get("code") == "no_route":
        raise ClaudeMemError("The worker is of another version. Run: claude-mem worker restart")
    if status == 400:
        raise UsageError(str(error["message"]))
    raise ClaudeMemError(str(error["message"]))


IMPORT_PATH = "/api/import"
BATCH_RECORDS = 500
BATCH_BYTES = 1 << 20
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
        output.message(f"Refused: {output.plural(self.refused, self.what)}.")
        for number, why in sorted(self.reasons)[:REASONS_SHOWN]:
            output.message(f"  {self.what} {number:,}: {fit(why, 160)}")
        if self.refused > REASONS_SHOWN:
            output.message(f"  and {self.refused - REASONS_SHOWN:,} more; --json shows them.")


def send(records: Iterable[Record], sent: Sent, *, own: bool, expected: int | None = None) -> Sent:
    """To the running worker, or one that is started. `expected`: how many records there are, about."""
    pass

    query = {"own": "1"} if own else None
    with SendProgress(sys.stderr, expected) as progress:
        for batch, count in batches(records):
            sent.add(sent.records + 1, recall("POST", IMPORT_PATH, query, batch))
            sent.records += count
            progress.show(sent)
    return sent


def batches(records: Iterable[Record]) -> Iterator[tuple[bytes, int]]:
    """Lines of JSON, and how many; a record that is larger than a batch may be goes alone."""
    lines: list[bytes] = []
    size = 0
    for record in records:
        line = json.dumps(record, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        if lines and (len(lines) == BATCH_RECORDS or size + len(line) > BATCH_BYTES):
            yield b"".join(lines), len(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield b"".join(lines), len(lines)


class SendProgress:
    """One line that is written over, where somebody watches."""

    def __init__(self, stream: IO[str], expected: int | None) -> None:
        self._stream, self._expected = stream, expected
        self._shown_at = 0.0
        self._began = time.monotonic()
        self._dirty = False

    def __enter__(self) -> SendProgress:
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
        self._stream.write(f"\r\x1b[K{send_progress(sent, self._expected, now - self._began)}")
        self._stream.flush()


def send_progress(sent: Sent, expected: int | None, took_s: float) -> str:
    """`1,500 of 4,000 records, 820/s, 3 s left`."""
    rate = sent.records / took_s if took_s > 0 else 0.0
    of = f" of {expected:,}" if expected else ""
    more = expected - sent.records if expected else 0
    left = f", {notices.age(more / rate)} left" if more > 0 and rate else ""
    return f"{sent.records:,}{of} records, {rate:,.0f}/s{left}"


def kind_counts(counts: Mapping[str, int]) -> str:
    """`2 sessions, 31 observations`."""
    order = {kind: number for number, kind in enumerate(KINDS)}
    kinds = sorted(counts, key=lambda kind: order.get(kind, len(order)))
    return ", ".join(output.plural(counts[kind], *KINDS.get(kind, (kind,))) for kind in kinds if counts[kind])


KINDS = {
    "project": ("project",),
    "session": ("session",),
    "observation": ("observation",),
    "summary": ("summary", "summaries"),
    "prompt": ("prompt",),
    "event": ("event",),
    "sighting": ("sighting",),
}
