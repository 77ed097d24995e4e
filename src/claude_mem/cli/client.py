"""The command line's client of the worker: requests, and records sent in batches.

The worker has committed a batch before the next one is sent. So an import can be interrupted at any time:
what was sent stays, and sending it again changes nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote, urlencode

from msgspec import Struct, field

from claude_mem import settings
from claude_mem.cli import output
from claude_mem.cli.commands import OK, WRONG, UsageError
from claude_mem.hook import notices
from claude_mem.model.errors import ClaudeMemError, WorkerHung
from claude_mem.model.records import Record
from claude_mem.serve import control
from claude_mem.settings import Settings

WITHIN_S = 60.0
"""A first search may load a model."""
SLOW_S = 1800.0
"""What reads or rewrites the whole database, and every backup of it."""
CHUNK = 64 << 10
NO_DATABASE = "There is no database yet; the worker creates it. Run: claude-mem worker start"
PAGE = 100  # as many as the worker lists at a time

_warned: set[str] = set()


def load_settings() -> Settings:
    """The settings; those with bad values are reported on stderr, once."""
    found = settings.load()
    for each in found.warnings:
        # Unknown names are reported by `doctor`: they may be another program's.
        if each.says not in _warned and (each.kind == "bad" or each.meant):
            _warned.add(each.says)
            output.message(f"claude-mem: {each.says}")
    return found


class WorkerRefused(ClaudeMemError):
    """The worker refused a request; `code` is its reason for programs."""

    def __init__(self, message: str, code: str) -> None:
        self.code = code
        super().__init__(message)


class BadRequest(WorkerRefused, UsageError):
    """What was typed cannot be right."""


def request(
    method: str,
    path: str,
    query: Mapping[str, object] | None = None,
    body: object = None,
    *,
    starts: int = 1,
    within_s: float = WITHIN_S,
) -> dict[str, Any]:
    """The worker's answer. `starts`: how often a worker is started if none answers. Raises ClaudeMemError."""
    path = _with_query(path, query or {})
    data_dir = settings.data_directory()  # whatever settings.json holds
    for starts_left in reversed(range(starts + 1)):
        try:
            status, answer = control.request(data_dir, method, path, body, deadline_s=within_s)
        except TimeoutError:
            hung = WorkerHung(control.status(data_dir).pid)
            # What was to be changed may have been: only a question is asked twice.
            if method != "GET" or not starts_left or not _replaced(data_dir):
                raise hung from None
        except OSError:
            if starts_left:
                with output.waiting("Starting the worker ..."):
                    control.start(load_settings().data_dir)
            continue
        if status >= 400:
            _refuse(status, answer)
        return answer
    if not starts:
        raise ClaudeMemError("The worker is not running. Start it: claude-mem worker start")
    raise ClaudeMemError("The worker keeps exiting. See its log: claude-mem worker logs")


def _replaced(data_dir: Path) -> bool:
    """Start another worker in the place of one that answers nobody, if it may be ended."""
    from claude_mem.serve import replacement

    with output.waiting("The worker does not answer. Restarting it ..."):
        if not isinstance(replacement.take_place(data_dir), int):
            return False
        control.start(load_settings().data_dir)
    return True


def stream_lines(path: str, query: Mapping[str, object]) -> Iterator[bytes]:
    """As `request`, for an answer that is read line by line as it arrives."""
    request("GET", "/health")  # it is running, or is started
    path = _with_query(path, query)
    try:
        with control.streamed(settings.data_directory(), "GET", path, deadline_s=WITHIN_S) as response:
            if response.status >= 400:
                _refuse(response.status, control.as_object(response.read()))
            rest = b""
            while piece := response.read1(CHUNK):
                *lines, rest = (rest + piece).split(b"\n")
                yield from (line + b"\n" for line in lines)
    except TimeoutError:
        raise WorkerHung(control.status(settings.data_directory()).pid) from None
    except ConnectionError:
        raise ClaudeMemError("The worker exited before it had sent everything. Try again.") from None


def pages(path: str, query: Mapping[str, object], *, starts: int = 1) -> Iterator[dict[str, Any]]:
    """Every item of a list, page by page."""
    offset = 0
    while True:
        page = request("GET", path, {**query, "limit": PAGE, "offset": offset}, starts=starts)
        yield from page["items"]
        offset += len(page["items"])
        if not page["hasMore"]:
            return


def quoted(text: str) -> str:
    """One part of a path, whatever it holds."""
    return quote(text, safe="", errors="replace")


def _with_query(path: str, query: Mapping[str, object]) -> str:
    given = {name: value for name, value in query.items() if value not in (None, "", [])}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def _refuse(status: int, answer: Mapping[str, object]) -> NoReturn:
    found = answer.get("error")
    error = found if isinstance(found, dict) else {"message": answer}
    code, message = str(error.get("code")), str(error["message"])
    if code == "no_route":
        message = "The running worker is a different version. Restart it: claude-mem worker restart"
    raise (BadRequest if status == 400 else WorkerRefused)(message, code)


IMPORT_PATH = "/api/import"
BATCH_LINES = 300
BATCH_BYTES = 1 << 20
MOST_REASONS = 1_000
REASONS_SHOWN = 20

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
    lines: Iterable[bytes], sent: Sent, absorb: Absorb, progress: output.Progress, expected: int | None = None
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


KINDS = ("project", "session", "observation", "summary", "prompt", "event", "sighting")
