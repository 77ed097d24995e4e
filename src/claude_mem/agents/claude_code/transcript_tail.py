"""What an agent said in a turn that has just ended, from the end of its transcript: hooks hear its last words
alone.

The path comes from a payload. So nothing is read but a regular file of the user's, named after the session,
in a folder of a `projects` folder, without a link on the way; and in it only lines that name the session. No
more is read than the last few megabytes, and no longer than a deadline.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from claude_mem.agents.base import TurnWords
from claude_mem.agents.claude_code import transcript_lines
from claude_mem.agents.claude_code.transcript_lines import Line, LineTally
from claude_mem.agents.claude_code.transcript_turns import Chain
from claude_mem.model.events import Event, TranscriptEvent

FOLDER = "projects"
WINDOWS = (512 << 10, 2 << 20, 8 << 20)
"""Bytes from the end, each tried if the turn did not begin within the one before."""
WITHIN_S = 2.0
LATER_MS = 2_000
"""What was written so long after a turn's end is of another one."""
MOST_MESSAGES = 100
MOST_CHARACTERS = 100_000  # of a turn; the last ones are kept


def words_of(stop: Event, within_s: float = WITHIN_S) -> TurnWords:
    """What the agent said in the turn that this event ends; nothing, where there is nothing to be read."""
    deadline = time.monotonic() + within_s
    path = Path(stop.transcript_path or "")
    with suppress(OSError, ValueError):
        fd = _opened(path, stop.session)
        try:
            size = os.fstat(fd).st_size
            turn = _Turn(stop)
            for reach in WINDOWS:
                found = _Turn(stop)
                try:
                    found.read(_lines(fd, size, reach, deadline), str(path))
                except TimeoutError:
                    break  # half a window may end in an earlier turn, perhaps a private one
                turn = found
                if turn.began or reach >= size:
                    break
            return turn.words()
        finally:
            os.close(fd)
    return TurnWords()


def _opened(path: Path, session: str) -> int:
    """Raises OSError, also for what is no transcript of the session's, and for another user's."""
    folder, root = path.parent, path.parent.parent
    if not path.is_absolute() or path.name != f"{session}.jsonl" or root.name != FOLDER:
        raise FileNotFoundError(path)
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    outer = os.open(root, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        inner = os.open(folder.name, flags | os.O_DIRECTORY, dir_fd=outer)
    finally:
        os.close(outer)
    try:
        fd = os.open(path.name, flags | os.O_NONBLOCK, dir_fd=inner)
    finally:
        os.close(inner)
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(fd)
        raise PermissionError(path)
    return fd


def _lines(fd: int, size: int, reach: int, deadline: float) -> Iterator[Line]:
    start = max(size - reach, 0)
    raw = os.pread(fd, reach, start)
    if start:
        raw = raw.partition(b"\n")[2]  # the first may be half a line
    numbered = ((0, line) for line in raw.split(b"\n") if line)
    for line in transcript_lines.lines(numbered, 0, LineTally()):
        if time.monotonic() > deadline:
            raise TimeoutError
        yield line


class _Turn:
    """The turn that an event ends, as far as it was found."""

    def __init__(self, stop: Event) -> None:
        self.began = False  # its prompt was found
        self._stop = stop
        self._said: list[TranscriptEvent] = []
        self._last = ""

    def read(self, lines: Iterator[Line], path: str) -> None:
        chain = Chain(self._stop.session, path)
        for line in lines:
            if not self._is_told(line):
                continue
            for event in chain.take(line):
                self._take(event)
        if chain.ending and self._is_of_it(chain.ending):
            self._last = str(chain.ending.payload["last_assistant_message"])

    def words(self) -> TurnWords:
        room, said = MOST_CHARACTERS, []
        for event in reversed(self._said[-MOST_MESSAGES:]):
            room -= len(str(event.payload["message"]))
            if room < 0:
                break
            said.append(event)
        return TurnWords(tuple(reversed(said)), self._last or None)

    def _is_told(self, line: Line) -> bool:
        named = line.name("") == line.text("uuid")  # else it could not be known again
        of_main = not line.fields.get("isSidechain") and not line.fields.get("agentId")
        late = self._stop.prompt_id is None and line.at > self._stop.at + LATER_MS
        return named and of_main and not late and line.text("sessionId") == self._stop.session

    def _take(self, event: TranscriptEvent) -> None:
        if event.event == "UserPromptSubmit" and (self._is_of_it(event) or self._stop.prompt_id is None):
            self.began, self._said, self._last = True, [], ""
        elif event.event == "AgentMessage" and self._is_of_it(event):
            self._said.append(event)
        elif event.event == "Stop" and self._is_of_it(event):
            self._last = str(event.payload["last_assistant_message"])

    def _is_of_it(self, event: TranscriptEvent) -> bool:
        return self._stop.prompt_id is None or event.payload.get("prompt_id") == self._stop.prompt_id
