"""Follows transcripts as they grow, for agents without hooks.

It checks sizes and times every few seconds: a thousand files take milliseconds, it needs no other program,
and it works on network drives, which send no change notifications. The meaning of a line depends on the lines
before it, so a file that has grown is read from its beginning, and what was already sent is skipped. How
often that happens is limited by how long it takes. Files that existed when the watch began are left to
`claude-mem backfill` until they grow.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import msgspec
from msgspec import Struct, field

from claude_mem.agents.claude_code import transcript_files, transcripts
from claude_mem.files import write_file
from claude_mem.model.events import TranscriptEvent
from claude_mem.privacy.private_turns import MemoryMarks

log = logging.getLogger("claude_mem")

MARKS_FILE = "watch.json"
SHARE = 20
"""A file is read again after this many times the duration of the last read."""
MOST_AT_ONCE = 500  # events handed over together

Mark = tuple[int, int]
"""A file's size and the time of its last change, with its subagents' files'."""


class _File(Struct):
    mark: Mark
    emitted: set[str] = field(default_factory=set)  # events, by id, since this process began
    not_before: float = 0.0
    turns: MemoryMarks = field(default_factory=MemoryMarks)


def _mark(path: Path) -> Mark | None:
    size, changed = 0, 0
    try:
        for file in (path, *transcript_files.subagent_files(path)):
            status = file.stat()
            size, changed = size + status.st_size, max(changed, status.st_mtime_ns)
    except OSError:
        return None  # it has just gone
    return size, changed


class TranscriptFollower:
    """Imports what is new in watched folders. `accept` takes events and the known private turns of their
    session, and returns how many were new; `drain` stores what hooks have reported, so that a session that
    has hooks is known before it is watched. `marks_file` stores what was seen so far."""

    def __init__(
        self,
        folders: Sequence[Path],
        marks_file: Path,
        *,
        accept: Callable[[Sequence[TranscriptEvent], MemoryMarks], int],
        drain: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._folders, self._marks_file, self._clock = folders, marks_file, clock
        self._accept, self._drain = accept, drain
        self._files: dict[Path, _File] = {}
        self._is_first = True  # all that is there is old
        with suppress(OSError, ValueError):
            marks = msgspec.json.decode(marks_file.read_bytes(), type=dict[str, Mark])
            self._files = {Path(path): _File(mark) for path, mark in marks.items()}
            self._is_first = False
        self._is_noted = False

    def step(self) -> bool:
        """Whether anything was new."""
        grown = self._grown()
        if grown:
            while self._drain():
                pass
        accepted = 0
        for path in grown:
            try:
                accepted += self._take_in(path)
            except OSError as error:
                log.warning("%s cannot be read: %s", path, error.strerror)
        if grown or not self._is_noted:
            self._is_noted = True
            marks = {str(path): file.mark for path, file in self._files.items()}
            write_file(self._marks_file, json.dumps(marks).encode())
        return accepted > 0

    def _grown(self) -> list[Path]:
        """Files that have grown and may be read again now."""
        now, there, grown = self._clock(), set(), []
        for path in (path for folder in self._folders for path in transcript_files.files(folder, [])):
            if path.suffix != ".jsonl" or transcript_files.is_subagent_file(path):
                continue
            there.add(path)
            mark, file = _mark(path), self._files.get(path)
            if mark is None:
                continue
            if file is None and self._is_first:
                self._files[path] = _File(mark)
            elif file is None or (file.mark != mark and now >= file.not_before):
                grown.append(path)
        self._is_first = False
        for path in self._files.keys() - there:
            del self._files[path]
        return grown

    def _take_in(self, path: Path) -> int:
        """What is new in a file, in pieces; returns how many events were new."""
        mark = _mark(path)
        if mark is None:
            return 0
        file = self._files.setdefault(path, _File((0, 0)))
        began, accepted = self._clock(), 0
        events = (event for event in transcripts.read(path, over=False) if event.id not in file.emitted)
        while piece := list(islice(events, MOST_AT_ONCE)):
            accepted += self._accept(piece, file.turns)
            file.emitted.update(each.id for each in piece)
        file.mark = mark  # of before it was read: what came meanwhile is read the next time
        now = self._clock()
        file.not_before = now + SHARE * (now - began)
        return accepted
