"""Sends transcripts to the worker: small sessions together, a long one in parts.

A session that fits in a request is accepted completely or not at all. The worker observes sessions in the
order they came; so an import that is interrupted anywhere and started again ends where one without
interruption does.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from claude_mem.agents import catalog
from claude_mem.agents.catalog import Transcript
from claude_mem.cli import client
from claude_mem.cli.client import WorkerRefused
from claude_mem.model.errors import ClaudeMemError

if TYPE_CHECKING:
    from pathlib import Path

    from claude_mem.model.events import TranscriptEvent

WITHIN_S = 120.0
STARTS = 3
AT_ONCE = 500
MOST_BYTES = 1 << 20
MOST_LINES = 2_000
LONGEST_LINE = 6 << 20
TRIES = 5
MOST_SHOWN = 20
OVER_AFTER_MS = 60 * 60 * 1000  # until then somebody may still be at work: its last line is not its end


class BeginAgain(Exception):
    """The worker that received the first part is no longer running."""


def request(
    method: str, path: str, query: dict[str, object] | None = None, body: object = None
) -> dict[str, Any]:
    """Raises BeginAgain."""
    try:
        return client.request(method, path, query, body, starts=STARTS, within_s=WITHIN_S)
    except WorkerRefused as error:
        if error.code == "not_from_the_start":
            raise BeginAgain from None
        raise ClaudeMemError(str(error)) from None  # nothing that was typed is wrong


def progress(since: int) -> dict[str, Any]:
    return request("GET", "/api/backfill", {"since": since})


def known_sessions(sessions: Sequence[str]) -> dict[str, dict[str, Any] | None]:
    found: dict[str, dict[str, Any] | None] = {}
    for start in range(0, len(sessions), AT_ONCE):
        some = {"sessions": list(sessions[start : start + AT_ONCE])}
        found |= request("POST", "/api/backfill/known", body=some)["sessions"]
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
            line = _line(event, self._agent)
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
        self.counts.update(events=events, unreadable=reading.tally.unreadable)
        self._show(transcript.path, reading.tally.shown)

    def _show(self, path: Path, lines: Sequence[tuple[int, str]]) -> None:
        room = MOST_SHOWN - len(self.shown)
        self.shown += [(path, number, why) for number, why in lines[:room]]

    def _send(self, lines: list[bytes], story: str | None = None, part: str | None = None) -> None:
        query: dict[str, object] = {"offline": str(self._offline).lower(), "story": story, "part": part}
        answer = request("POST", "/api/backfill", query, b"\n".join(lines))  # durable when it returns
        self.counts.update({name: answer[name] for name in ("fresh", "duplicate", "dropped", "live")})
        self._sent()


def seal(transcript: Transcript, now: int) -> str:
    """The same for the same state of a transcript."""
    state = "over" if now - transcript.last_at > OVER_AFTER_MS else "open"
    return f"{transcript.size}:{transcript.last_at}:{state}"


def _line(event: TranscriptEvent, agent: str) -> bytes:
    head = ("id", "at", "event", "branch")
    fields: dict[str, object] = {name: getattr(event, name) for name in head} | {"agent": agent}
    line = _encoded(fields | {"payload": event.payload})
    if len(line) <= LONGEST_LINE:
        return line
    # More than a request may hold. The worker stores the ends of long texts only, and so does this; that
    # something private was removed is sent along, since the worker can no longer see it.
    from claude_mem.privacy import scrub, scrub_payload

    scrubbed, hid_private = scrub.scrub(event.payload, field_cap=scrub.FIELD_CAP)
    line = _encoded(fields | {"payload": scrubbed, "hid_private": hid_private})
    if len(line) <= LONGEST_LINE:
        return line
    bare = {key: event.payload[key] for key in scrub_payload.BARE_KEYS if key in event.payload}
    return _encoded(fields | {"payload": bare, "hid_private": hid_private})


def _encoded(fields: dict[str, object]) -> bytes:
    return json.dumps(fields, separators=(",", ":")).encode()
