"""Reads what an agent said in a turn that has just ended from the end of its transcript, because hooks report
only its last message.

The path comes from a payload. So only a regular file of the user's is read, named after the session, in a
folder of a `projects` folder, without following links; and only its lines that name the session. At most the
last few megabytes are read, within a deadline.
"""

from __future__ import annotations

import os
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from claude_mem.agents.catalog import TurnWords
from claude_mem.agents.claude_code import transcript_lines
from claude_mem.agents.claude_code.transcript_lines import Line, LineTally
from claude_mem.agents.claude_code.transcript_turns import Chain
from claude_mem.model.events import Event, TranscriptEvent

FOLDER = "projects"
WINDOWS = (512 << 10, 2 << 20, 8 << 20)
"""How many bytes to read from the end; each is tried if the turn does not begin within the previous one."""
WITHIN_S = 2.0
LATER_MS = 2_000
"""A line written this long after a turn's end belongs to another turn."""
MOST_MESSAGES = 100
MOST_CHARACTERS = 100_000  # of a turn; the last ones are kept


def words_of(stop: Event, within_s: float = WITHIN_S) -> TurnWords:
    """What the agent said in the turn that this event ends; nothing, if nothing can be read."""
    path = Path(stop.transcript_path or "")
    if path.name != f"{stop.session}.jsonl":
        return TurnWords()
    return words_at_end(path, (FOLDER, 1), lambda: _MainTurn(stop), within_s)


class EndedTurn(ABC):
    """The turn that an event ends, as much of it as was found."""

    included_events: tuple[str, ...] = ("AgentMessage",)  # events that no hook reports

    def __init__(self, stop: Event) -> None:
        self.began = False  # its prompt was found
        self.stop = stop
        self.found: list[TranscriptEvent] = []
        self.last = ""

    @abstractmethod
    def read(self, raw_lines: Iterator[bytes]) -> None: ...

    def words(self) -> TurnWords:
        remaining, during_turn = MOST_CHARACTERS, []
        for event in reversed(self.found[-MOST_MESSAGES:]):
            remaining -= len(str(event.payload.get("message", "")))
            if remaining < 0:
                break
            during_turn.append(event)
        return TurnWords(tuple(reversed(during_turn)), self.last or None)

    def take(self, event: TranscriptEvent) -> None:
        """An event of the session's."""
        if not self.is_of_it(event):
            return
        if event.event == "UserPromptSubmit":
            self.began, self.found, self.last = True, [], ""
        elif event.event in self.included_events:
            self.found.append(event)
        elif event.event == "Stop":
            self.last = str(event.payload["last_assistant_message"])

    def is_of_it(self, event: TranscriptEvent) -> bool:
        return self.stop.prompt_id is None or event.payload.get("prompt_id") == self.stop.prompt_id


def words_at_end(
    path: Path, below: tuple[str, int], new_turn: Callable[[], EndedTurn], within_s: float
) -> TurnWords:
    """What a turn's reader finds at the end of a file. `below`: the name of the folder that it must be in,
    and how many folders are in between."""
    deadline = time.monotonic() + within_s
    with suppress(OSError, ValueError):
        fd = _opened(path, *below)
        try:
            size = os.fstat(fd).st_size
            turn = new_turn()
            for reach in WINDOWS:
                found = new_turn()
                try:
                    found.read(_raw_lines(fd, size, reach, deadline))
                except TimeoutError:
                    break  # half a window may end in an earlier turn, perhaps a private one
                turn = found
                if turn.began or reach >= size:
                    break
            return turn.words()
        finally:
            os.close(fd)
    return TurnWords()


def _opened(path: Path, folder: str, between: int) -> int:
    """Raises OSError, also for a file in another place, or of another user."""
    *folders, name = path.parts[-between - 1 :] or ("",)
    root = path.parents[between] if len(path.parts) > between + 1 else path
    if not path.is_absolute() or root.name != folder or ".." in folders:
        raise FileNotFoundError(path)
    flags = os.O_RDONLY | os.O_CLOEXEC
    fd = os.open(root, flags | os.O_DIRECTORY)
    for part, kind in [*((each, os.O_DIRECTORY) for each in folders), (name, os.O_NONBLOCK)]:
        try:
            inner = os.open(part, flags | os.O_NOFOLLOW | kind, dir_fd=fd)
        finally:
            os.close(fd)
        fd = inner
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
        os.close(fd)
        raise PermissionError(path)
    return fd


def _raw_lines(fd: int, size: int, reach: int, deadline: float) -> Iterator[bytes]:
    start = max(size - reach, 0)
    raw = os.pread(fd, reach, start)
    if start:
        raw = raw.partition(b"\n")[2]  # the first may be half a line
    for line in raw.split(b"\n"):
        if time.monotonic() > deadline:
            raise TimeoutError
        if line:
            yield line


class _MainTurn(EndedTurn):
    """Of Claude Code's main agent."""

    def read(self, raw_lines: Iterator[bytes]) -> None:
        chain = Chain(self.stop.session, self.stop.transcript_path or "")
        numbered = ((0, line) for line in raw_lines)
        for line in transcript_lines.lines(numbered, 0, LineTally()):
            if not self._belongs_to_turn(line):
                continue
            for event in chain.take(line):
                self.take(event)
        if chain.ending and self.is_of_it(chain.ending):
            self.last = str(chain.ending.payload["last_assistant_message"])

    def _belongs_to_turn(self, line: Line) -> bool:
        named = line.name("") == line.text("uuid")  # else it could not be known again
        of_main = not line.fields.get("isSidechain") and not line.fields.get("agentId")
        late = self.stop.prompt_id is None and line.at > self.stop.at + LATER_MS
        return named and of_main and not late and line.text("sessionId") == self.stop.session
