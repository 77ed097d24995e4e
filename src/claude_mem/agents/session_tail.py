"""What the hooks of an agent leave out of a turn, from the end of its session's file: what was said on the
way, and the tool calls that failed. What is read, and how much, is bounded as in `transcript_tail`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from claude_mem.agents.catalog import TurnWords
from claude_mem.agents.claude_code import transcript_lines
from claude_mem.agents.claude_code.transcript_lines import LineTally
from claude_mem.agents.claude_code.transcript_tail import LATER_MS, WITHIN_S, EndedTurn, words_at_end
from claude_mem.agents.session_files import SessionFiles, TranscriptSession
from claude_mem.model.events import Event, TranscriptEvent

FOLDER = "sessions"


def words_of(files: SessionFiles, between: int) -> Callable[[Event], TurnWords]:
    """For an agent whose files are named after the session, so many folders below `sessions`."""

    def words(stop: Event) -> TurnWords:
        path, own_id = Path(stop.transcript_path or ""), stop.session.removeprefix(f"{files.agent}:")
        is_its = path.stem == own_id or path.stem.endswith(f"-{own_id}")
        if not is_its or not fnmatchcase(path.name, files.pattern):
            return TurnWords()
        return words_at_end(path, (FOLDER, between), lambda: _SessionTurn(stop, files, path), WITHIN_S)

    return words


class _SessionTurn(EndedTurn):
    def __init__(self, stop: Event, files: SessionFiles, path: Path) -> None:
        super().__init__(stop)
        self._files = files
        self._session = TranscriptSession(files.agent, path, is_started=True)
        self._session.follow(stop.session.removeprefix(f"{files.agent}:"), stop.cwd)

    def read(self, raw_lines: Iterator[bytes]) -> None:
        session, tally = self._session, LineTally()
        for raw in raw_lines:
            fields = transcript_lines.parsed(raw, 0, tally)
            at = self._files.at(fields) if fields else None
            is_late = self.stop.prompt_id is None and at is not None and at > self.stop.at + LATER_MS
            if fields is None or is_late:
                continue
            with suppress(TypeError, KeyError, AttributeError, ValueError):
                name = self._files.name(fields) or hashlib.sha256(raw).hexdigest()[:32]
                session.begin_line(0, at, name)
                self._files.read_line(session, fields)
            if not session.is_ours:
                self.found, self.last = [], ""
                return
            self._take(session.take_events())
        session.end_turn()
        self._take(session.take_events())

    def _take(self, events: list[TranscriptEvent]) -> None:
        for event in events:
            if event.payload["session_id"] != self.stop.session or not self.is_of_it(event):
                continue
            if event.event == "UserPromptSubmit":
                self.began = True
                if self.stop.prompt_id is None:  # else it is one that was typed while the agent worked
                    self.found, self.last = [], ""
            elif event.event in ("AgentMessage", "PostToolUseFailure"):
                self.found.append(event)
            elif event.event == "Stop":
                self.last = str(event.payload["last_assistant_message"])
