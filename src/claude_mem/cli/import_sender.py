"""Sends records and transcripts to the worker for import, in batches.

The worker has committed a batch before the next one is sent. So an import can be interrupted at any time:
what was sent stays, and sending it again changes nothing. A session that fits in a request is accepted
completely or not at all; the worker observes sessions in the order in which they arrive.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from claude_mem.agents import catalog
from claude_mem.agents.catalog import Transcript
from claude_mem.cli import client, output
from claude_mem.cli.client import WorkerRefused, request
from claude_mem.cli.commands import OK, WRONG, UsageError
from claude_mem.hook import notices
from claude_mem.model.errors import ClaudeMemError
from claude_mem.model.records import Record

if TYPE_CHECKING:
    from pathlib import Path

    from claude_mem.model.events import TranscriptEvent


IMPORT_PATH = "/api/import"
BATCH_LINES = 300
BATCH_BYTES = 1 << 20
MOST_REASONS = 1_000
REASONS_SHOWN = 20
KINDS = ("project", "session", "observation", "summary", "prompt", "event", "sighting")

Absorb = Callable[[bytes], Mapping[str, Any]]
"""Takes a batch of lines, and returns the outcome of each."""


class SendReport(Struct):
    """The outcome of what was sent so far. `what`: the name of an item, such as a record or a line of a
    file."""

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
    sent: SendReport,
    absorb: Absorb,
    sentence: str,
    expected: int | None = None,
    *,
    interrupted: bool = True,
) -> SendReport:
    """Sends records in batches; the outcome is added to `sent`. `sentence`: what to show next to the
    progress. `expected`: approximate number of lines. `interrupted`: an interruption reports what was
    imported."""
    with output.ProgressLine(sentence) as progress:
        try:
            for batch, count in batches(lines):
                sent.add(sent.records + 1, absorb(batch))
                sent.records += count
                progress.show(pace(sent, expected, progress.elapsed_s))
        except KeyboardInterrupt:
            progress.erase()
            if interrupted:
                imported = kind_counts(sent.taken) or "nothing new"
                output.message(f"Interrupted. Imported so far: {imported}. Run it again to continue.")
            raise
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


def pace(sent: SendReport, expected: int | None, took_s: float) -> str:
    """`1,500 of 4,000 records, 820/s, 3 s left`."""
    rate = sent.records / took_s if took_s > 0 else 0.0
    of = f" of {expected:,}" if expected else ""
    more = expected - sent.records if expected else 0
    left = f", {notices.age(more / rate)} left" if more > 0 and rate else ""
    return f"{sent.records:,}{of} {sent.what}s, {rate:,.0f}/s{left}"


def kind_counts(counts: Mapping[str, int]) -> str:
    """`2 sessions, 31 observations`."""
    kinds = [*KINDS, *(kind for kind in counts if kind not in KINDS)]
    return ", ".join(output.plural(counts[kind], kind) for kind in kinds if counts.get(kind))


BACKFILL_WITHIN_S = 120.0
STARTS = 3
SESSIONS_AT_ONCE = 500
TRANSCRIPT_BYTES = 1 << 20
TRANSCRIPT_LINES = 2_000
LONGEST_LINE = 6 << 20
TRIES = 5
UNREADABLE_SHOWN = 20
OVER_AFTER_MS = 60 * 60 * 1000  # until then somebody may still be at work: its last line is not its end


class BeginAgain(Exception):
    """The worker that received the first part is no longer running."""


def backfill_request(
    method: str, path: str, query: dict[str, object] | None = None, body: object = None
) -> dict[str, Any]:
    """Raises BeginAgain."""
    try:
        return client.request(method, path, query, body, starts=STARTS, within_s=BACKFILL_WITHIN_S)
    except WorkerRefused as error:
        if error.code == "not_from_the_start":
            raise BeginAgain from None
        raise ClaudeMemError(str(error)) from None  # nothing that was typed is wrong


def backfill_progress(since: int) -> dict[str, Any]:
    return backfill_request("GET", "/api/backfill", {"since": since})


def known_sessions(sessions: Sequence[str]) -> dict[str, dict[str, Any] | None]:
    found: dict[str, dict[str, Any] | None] = {}
    for start in range(0, len(sessions), SESSIONS_AT_ONCE):
        some = {"sessions": list(sessions[start : start + SESSIONS_AT_ONCE])}
        found |= backfill_request("POST", "/api/backfill/known", body=some)["sessions"]
    return found


class TranscriptSender:
    """`counts`: events sent, and by the worker's answer fresh, duplicate, dropped and live; unreadable lines.
    `sent` is called after every request."""

    def __init__(self, agent: str, *, offline: bool, now: int, sent: Callable[[], None]) -> None:
        self._agent, self._reader = agent, catalog.transcripts(agent)
        self._offline, self._now, self._sent = offline, now, sent
        self._lines: list[bytes] = []
        self._size = 0
        self.counts: Counter[str] = Counter()
        self.shown: list[tuple[Path, int, str]] = []  # the first few unreadable lines

    def add(self, transcript: Transcript) -> None:
        """Raises ClaudeMemError; a file that cannot be read is only counted."""
        for _ in range(TRIES):
            try:
                return self._add(transcript)
            except BeginAgain:
                continue
            except OSError as error:
                self.counts["unreadable"] += 1
                return self._show(transcript.path, [(0, error.strerror or str(error))])
        raise ClaudeMemError("The worker keeps exiting. See its log: claude-mem worker logs")

    def flush(self) -> None:
        if self._lines:
            self._send(self._lines)
        self._lines, self._size = [], 0

    def _add(self, transcript: Transcript) -> None:
        is_over = self._now - transcript.last_at > OVER_AFTER_MS
        reading = self._reader.read(transcript.path, transcript.agents, over=is_over)
        mine: list[bytes] = []
        size, events, story = 0, 0, None
        for event in reading:
            line = _event_line(event, self._agent)
            events += 1
            if size + len(line) > TRANSCRIPT_BYTES or len(mine) >= TRANSCRIPT_LINES:
                part = "more" if story else "first"
                if story is None:
                    self.flush()
                    story = os.urandom(8).hex()
                self._send(mine, story, part)
                mine, size = [], 0
            mine.append(line)
            size += len(line)
        mine.append(
            json.dumps({"end": transcript.session, "seal": transcript_seal(transcript, self._now)}).encode()
        )
        if story is not None:
            self._send(mine, story, "last")
        else:
            if self._size + size > TRANSCRIPT_BYTES or len(self._lines) + len(mine) > TRANSCRIPT_LINES:
                self.flush()
            self._lines += mine
            self._size += size
        self.counts.update(events=events, unreadable=reading.tally.unreadable)
        self._show(transcript.path, reading.tally.shown)

    def _show(self, path: Path, lines: Sequence[tuple[int, str]]) -> None:
        room = UNREADABLE_SHOWN - len(self.shown)
        self.shown += [(path, number, why) for number, why in lines[:room]]

    def _send(self, lines: list[bytes], story: str | None = None, part: str | None = None) -> None:
        query: dict[str, object] = {"offline": str(self._offline).lower(), "story": story, "part": part}
        answer = backfill_request(
            "POST", "/api/backfill", query, b"\n".join(lines)
        )  # durable when it returns
        self.counts.update({name: answer[name] for name in ("fresh", "duplicate", "dropped", "live")})
        self._sent()


def transcript_seal(transcript: Transcript, now: int) -> str:
    """The same for the same state of a transcript."""
    state = "over" if now - transcript.last_at > OVER_AFTER_MS else "open"
    return f"{transcript.size}:{transcript.last_at}:{state}"


def _event_line(event: TranscriptEvent, agent: str) -> bytes:
    head = ("id", "at", "event", "branch")
    fields: dict[str, object] = {name: getattr(event, name) for name in head} | {"agent": agent}
    line = _as_json(fields | {"payload": event.payload})
    if len(line) <= LONGEST_LINE:
        return line
    # It exceeds the size of a request. Like the worker, keep only the ends of long texts. Also send whether
    # private text was removed, because the worker can no longer see that.
    from claude_mem.privacy import scrub, scrub_payload

    scrubbed, hid_private = scrub.scrub(event.payload, field_cap=scrub.FIELD_CAP)
    line = _as_json(fields | {"payload": scrubbed, "hid_private": hid_private})
    if len(line) <= LONGEST_LINE:
        return line
    reduced = {key: event.payload[key] for key in scrub_payload.BARE_KEYS if key in event.payload}
    return _as_json(fields | {"payload": reduced, "hid_private": hid_private})


def _as_json(fields: dict[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
