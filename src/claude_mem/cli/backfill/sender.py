"""Sends transcripts to the worker: small sessions together, a long one in parts.

A session that fits in a request is accepted whole or not at all. The worker observes sessions in the order
they came; so an import that is interrupted anywhere and begun again ends where one without interruption does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from claude_mem.cli import client
from claude_mem.cli.client import Refused
from claude_mem.model.errors import ClaudeMemError

if TYPE_CHECKING:
    from pathlib import Path

    from claude_mem.agents.claude_code.transcript_files import Transcript
    from claude_mem.model.events import TranscriptEvent


WITHIN_S = 120.0
STARTS = 3
AT_ONCE = 500


class BeginAgain(Exception):
    """The worker that received the first part is no longer running."""


def progress(since: int) -> dict[str, Any]:
    return request("GET", "/api/backfill", {"since": since})


def known_sessions(sessions: Sequence[str]) -> dict[str, dict[str, Any] | None]:
    found: dict[str, dict[str, Any] | None] = {}
    for start in range(0, len(sessions), AT_ONCE):
        some = {"sessions": list(sessions[start : start + AT_ONCE])}
        found |= request("POST", "/api/backfill/known", body=some)["sessions"]
    return found


def request(
    method: str, path: str, query: dict[str, object] | None = None, body: object = None
) -> dict[str, Any]:
    """Raises BeginAgain."""
    try:
        return client.request(method, path, query, body, starts=STARTS, within_s=WITHIN_S)
    except Refused as error:
        if error.code == "not_from_the_start":
            raise BeginAgain from None
        raise ClaudeMemError(str(error)) from None  # nothing that was typed is wrong


MOST_BYTES = 1 << 20
MOST_LINES = 2_000
LONGEST_LINE = 6 << 20
TRIES = 5
MOST_SHOWN = 20


class SendReport(Struct):
    """The outcome of what was sent so far."""

    events: int = 0
    fresh: int = 0
    duplicate: int = 0
    dropped: int = 0
    live: int = 0
    lines: int = 0
    unreadable: int = 0
    shown: list[tuple[Path, int, str]] = field(default_factory=list)  # the first few unreadable lines

    def lost(self, path: Path, number: int, why: str) -> None:
        if len(self.shown) < MOST_SHOWN:
            self.shown.append((path, number, why))


class TranscriptSender:
    def __init__(self, *, offline: bool, now: int, sent: Callable[[], None]) -> None:
        """`sent` is called after every request."""
        self._offline, self._now, self._sent = offline, now, sent
        self._lines: list[bytes] = []
        self._size = 0
        self.came = SendReport()

    def tell(self, transcript: Transcript) -> None:
        """Raises ClaudeMemError; a file that cannot be read is only counted."""
        for _ in range(TRIES):
            try:
                return self._tell(transcript)
            except BeginAgain:
                continue
            except OSError as error:
                self.came.unreadable += 1
                self.came.lost(transcript.path, 0, error.strerror or str(error))
                return None
        raise ClaudeMemError("The worker keeps exiting. See its log: claude-mem worker logs")

    def flush(self) -> None:
        if self._lines:
            self._send(self._lines)
        self._lines, self._size = [], 0

    def _tell(self, transcript: Transcript) -> None:
        from claude_mem.agents.claude_code import transcripts

        reading = transcripts.read(transcript.path, transcript.agents, over=is_over(transcript, self._now))
        mine: list[bytes] = []
        size, events, story = 0, 0, None
        for told in reading:
            line = _line(told)
            events += 1
            if size + len(line) > MOST_BYTES or len(mine) >= MOST_LINES:
                part = "more" if story else "first"
                if story is None:
                    self.flush()
                    story = os.urandom(8).hex()
                self._send(mine, story, part)
                mine, size = [], 0
            mine.append(line)
            size += len(line)
        mine.append(json.dumps({"end": transcript.session, "seal": seal(transcript, self._now)}).encode())
        if story is not None:
            self._send(mine, story, "last")
        else:
            if self._size + size > MOST_BYTES or len(self._lines) + len(mine) > MOST_LINES:
                self.flush()
            self._lines += mine
            self._size += size
        self.came.events += events
        self.came.lines += reading.tally.lines
        self.came.unreadable += reading.tally.unreadable
        for number, why in reading.tally.shown:
            self.came.lost(transcript.path, number, why)

    def _send(self, lines: list[bytes], story: str | None = None, part: str | None = None) -> None:
        query: dict[str, object] = {"offline": str(self._offline).lower(), "story": story, "part": part}
        answer = request("POST", "/api/backfill", query, b"\n".join(lines))  # durable when it returns
        for name in ("fresh", "duplicate", "dropped", "live"):
            setattr(self.came, name, getattr(self.came, name) + answer[name])
        self._sent()


def is_over(transcript: Transcript, now: int) -> bool:
    """Somebody may still be at work in it: then its last line is not its end."""
    return now - transcript.last_at > 60 * 60 * 1000


def seal(transcript: Transcript, now: int) -> str:
    """The same for the same state of a transcript."""
    return f"{transcript.size}:{transcript.last_at}:{'over' if is_over(transcript, now) else 'open'}"


def _line(told: TranscriptEvent) -> bytes:
    fields: dict[str, object] = {"id": told.id, "at": told.at, "event": told.event, "branch": told.branch}
    line = _encoded(fields | {"payload": told.payload})
    if len(line) <= LONGEST_LINE:
        return line
    # More than a request may hold. The worker keeps the ends of long texts only, and so does this; what was
    # hidden is said, for it is no longer there to be seen.
    from claude_mem.privacy import scrub, scrub_payload

    kept, hid_private = scrub.scrub(told.payload, field_cap=scrub.FIELD_CAP)
    line = _encoded(fields | {"payload": kept, "hid_private": hid_private})
    if len(line) <= LONGEST_LINE:
        return line
    bare = {key: told.payload[key] for key in scrub_payload.BARE_KEYS if key in told.payload}
    return _encoded(fields | {"payload": bare, "hid_private": hid_private})


def _encoded(fields: dict[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
