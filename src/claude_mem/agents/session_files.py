"""Reads sessions that an agent stores in files as the events that its hooks would have sent: a
`TranscriptReader`.

An agent declares where its files are and what a line means (`SessionFiles`). This module defines a turn: a
prompt, the tools that were used, the messages in between, and the last message.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from fnmatch import fnmatch, fnmatchcase
from pathlib import Path
from typing import Any

from msgspec import Struct

from claude_mem.agents.catalog import FoundTranscripts, Transcript, TurnWords
from claude_mem.agents.claude_code import transcript_files, transcript_lines
from claude_mem.agents.claude_code.transcript_lines import LineTally, TranscriptReading
from claude_mem.agents.claude_code.transcript_tail import LATER_MS, WITHIN_S, EndedTurn, words_at_end
from claude_mem.model.events import TRANSCRIPT_PREFIX, Event, TranscriptEvent

MOST_CALLS = 256  # waiting for their results
_LONGEST_NAME = 200

Fields = Mapping[str, Any]
Numbered = Iterator[tuple[int, dict[str, Any]]]


class TranscriptSession:
    """A session, as far as its file was read. A reader interprets its lines."""

    def __init__(self, agent: str, path: Path, *, is_started: bool = False) -> None:
        """`is_started`: only the end of it is read."""
        self._agent, self._path = agent, str(path)
        self.id = path.name.partition(".")[0]
        self.cwd: str | None = None
        self.branch: str | None = None
        self.turn: str | None = None  # its id, where the agent's hooks name one
        self.is_main_session = True  # not a subagent's, whose caller has what came of it
        self.at = 0
        self._line, self._nth = "", 0
        self._number = 0
        self._prompt: tuple[str | None, str] | None = None
        self._calls: dict[str, tuple[object, object]] = {}
        self._messages: list[str] = []
        self._message_at: tuple[int, str] | None = None
        self._is_started = is_started
        self._emitted: list[TranscriptEvent] = []

    @property
    def name(self) -> str:
        return f"{self._agent}:{self.id}"

    def follow(self, session: object = None, cwd: object = None, branch: object = None) -> None:
        """Takes the location from a line; what the line does not mention stays the same."""
        self.id = session if isinstance(session, str) and session else self.id
        self.cwd = cwd if isinstance(cwd, str) and cwd else self.cwd
        self.branch = branch if isinstance(branch, str) and branch else self.branch

    def begin_line(self, number: int, at: int | None, name: object) -> None:
        """`name`: what a copy of the line has too."""
        self.at = at if at is not None else self.at
        named = isinstance(name, str) and 0 < len(name) <= _LONGEST_NAME
        self._line, self._nth = str(name) if named else f"{self.id}-{number}", 0

    def prompt(self, text: str) -> None:
        """Adds a prompt; one that is written twice counts once."""
        text = text.strip()
        if not text or (self.turn is not None and self._prompt == (self.turn, text)):
            return
        self.end_turn()
        self._prompt = self.turn, text
        self._number += 1
        self._calls.clear()
        self._emit("UserPromptSubmit", prompt=text)

    def agent_message(self, text: object) -> None:
        if isinstance(text, str) and text.strip():
            self._messages.append(text.strip())
            self._message_at = self._message_at or (self.at, self._line)

    def call(self, id: object, tool: object, tool_input: object) -> None:
        """Adds a tool call; messages before it are messages between tool calls."""
        if self._message_at:
            self._emit("AgentMessage", self._message_at, message=self._take_messages())
        self._calls[str(id)] = tool, tool_input
        if len(self._calls) > MOST_CALLS:
            del self._calls[next(iter(self._calls))]

    def answer(self, id: object, response: object, *, failed: bool = False) -> None:
        call = self._calls.pop(str(id), None)
        if call is None:
            return
        use = {"tool_name": call[0], "tool_input": call[1], "tool_use_id": str(id)}
        response = transcript_lines.without_pictures(response)
        if failed:
            self._emit("PostToolUseFailure", **use, error=response)
        else:
            self._emit("PostToolUse", **use, tool_response=response)

    def end_turn(self) -> None:
        if self._message_at:
            self._emit(
                "Stop", self._message_at, stop_hook_active=False, last_assistant_message=self._take_messages()
            )

    def close(self) -> None:
        """Ends the session with its last line."""
        self.end_turn()
        if self._is_started:
            self._line, self._nth = f"{self.id}-end", 0
            self._emit("SessionEnd", reason="other")

    def take_events(self) -> list[TranscriptEvent]:
        """Returns the events since the last call."""
        emitted, self._emitted = self._emitted, []
        return emitted

    def _take_messages(self) -> str:
        text, self._messages, self._message_at = "\n\n".join(self._messages), [], None
        return text

    def _emit(self, event: str, when: tuple[int, str] | None = None, /, **fields: object) -> None:
        if not self._is_started:
            self._is_started = True
            self._add("SessionStart", (self.at, f"{self.id}-start"), {"source": "startup"})
        numbered: dict[str, object] = {"prompt_number": self._number} if self._number else {}
        named: dict[str, object] = {"prompt_id": self.turn} if self.turn else {}
        self._add(event, when or (self.at, self._line), named | numbered | fields)

    def _add(self, event: str, when: tuple[int, str], fields: dict[str, object]) -> None:
        at, line = when
        self._nth += 1
        id = f"{TRANSCRIPT_PREFIX}{self._agent}:{line}-{event}" + (f"-{self._nth}" if self._nth > 1 else "")
        payload: dict[str, object] = {
            "session_id": self.name,
            "transcript_path": self._path,
            "cwd": self.cwd,
            "hook_event_name": event,
        }
        self._emitted.append(TranscriptEvent(id, at, event, payload | fields, self.branch, self._agent))


def read_message(session: TranscriptSession, message: Fields, typed: Callable[[str], str]) -> None:
    """A message as Anthropic's API has it. `typed`: what of a user's text the user typed."""
    parts = message["content"] if isinstance(message["content"], list) else []
    text = "\n".join(each["text"] for each in parts if each["type"] == "text")
    if message["role"] == "assistant":
        session.agent_message(text)
    for each in parts:
        if each["type"] == "tool_use":
            session.call(each["id"], each["name"], each["input"])
        elif each["type"] == "tool_result":
            session.answer(each["tool_use_id"], each["content"], failed=each.get("is_error") is True)
    if message["role"] == "user":
        session.prompt(typed(text))


def json_lines(path: Path, tally: LineTally) -> Numbered:
    for number, raw in transcript_lines.raw_lines(path, tally):
        fields = transcript_lines.parsed(raw, number, tally)
        if fields is not None:
            yield number, fields


def _stamp(fields: Fields) -> int | None:
    return transcript_lines.epoch(fields.get("timestamp"))


class SessionFiles(Struct, frozen=True):
    agent: str
    projects_folder: Callable[[], Path]
    pattern: str  # of a file's name
    read_line: Callable[[TranscriptSession, Fields], None]  # what a line says; what it raises loses the line
    name: Callable[[Fields], object] = lambda fields: fields.get("id")
    at: Callable[[Fields], int | None] = _stamp
    lines: Callable[[Path, LineTally], Numbered] = json_lines
    beside: Callable[[TranscriptSession, Path], None] | None = None  # what other files say of it
    last_at: Callable[[Path], int | None] = transcript_files.last_at
    inside: Callable[[Path], list[Path]] | None = None  # a file of several sessions: a path for each
    size: Callable[[Path], int] = lambda path: path.stat().st_size

    def find(self, root: Path, *, project: str | None = None, since: int | None = None) -> FoundTranscripts:
        unreadable: list[tuple[Path, str]] = []
        paths = self._all(root, unreadable)
        return transcript_files.select(paths, self._transcript, unreadable, project, since)

    def read(self, path: Path, of_agents: Sequence[Path] = (), *, over: bool = True) -> TranscriptReading:
        del of_agents
        session, tally = TranscriptSession(self.agent, path), LineTally()
        return TranscriptReading(self._events(session, path, tally, over=over), tally)

    def count(self, transcript: Transcript) -> tuple[int, int]:
        try:
            events = [each.event for each in self.read(transcript.path)]
        except OSError:
            return 0, 0
        return sum(each.startswith("PostToolUse") for each in events), events.count("Stop")

    def _events(
        self, session: TranscriptSession, path: Path, tally: LineTally, *, over: bool
    ) -> Iterator[TranscriptEvent]:
        session.at = 0 if self.inside else int(path.stat().st_mtime * 1000)
        if self.beside:
            self.beside(session, path)
        for number, fields in self.lines(path, tally):
            try:
                session.begin_line(number, self.at(fields), self.name(fields))
                self.read_line(session, fields)
            except (TypeError, KeyError, AttributeError, ValueError) as error:
                tally.lost(number, f"unexpected format: {type(error).__name__}")
            if not session.is_main_session:
                return
            yield from session.take_events()
        if over:
            session.close()
        yield from session.take_events()

    def _all(self, root: Path, unreadable: list[tuple[Path, str]]) -> Iterator[Path]:
        for path in [root] if root.is_file() else self._paths(root, unreadable):
            try:
                yield from self.inside(path) if self.inside else [path]
            except OSError as error:
                unreadable.append((path, error.strerror or str(error)))

    def _paths(self, root: Path, unreadable: list[tuple[Path, str]]) -> Iterator[Path]:
        """Links are not followed."""

        def refused(error: OSError) -> None:
            unreadable.append((Path(error.filename or root), error.strerror or str(error)))

        for folder, folders, names in os.walk(root, onerror=refused):
            folders.sort()
            for name in sorted(names):
                path = Path(folder, name)
                if fnmatch(name, self.pattern) and not path.is_symlink():
                    yield path

    def _transcript(self, path: Path) -> Transcript | None:
        """The session of a file; None: nothing happened in it, or it is a subagent's."""
        session = TranscriptSession(self.agent, path)
        first = next(self._events(session, path, LineTally(), over=False), None)
        if first is None:
            return None
        last = max(self.last_at(path) or 0, first.at)
        return Transcript(session.name, path, self.size(path), first.at, last, session.cwd)


# Reads what an agent's hooks do not report from the end of its session file: the messages between tool calls,
# and the tool calls that failed. The same limits apply as in `transcript_tail`.

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


def words_in(stop: Event, files: SessionFiles, path: Path, raw_lines: Iterator[bytes]) -> TurnWords:
    """What of a turn is in lines that were already found."""
    turn = _SessionTurn(stop, files, path)
    turn.read(raw_lines)
    return turn.words()


class _SessionTurn(EndedTurn):
    included_events = ("AgentMessage", "PostToolUseFailure")

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
            if not session.is_main_session:
                self.found, self.last = [], ""
                return
            self._take(session.take_events())
        session.end_turn()
        self._take(session.take_events())

    def _take(self, events: list[TranscriptEvent]) -> None:
        for event in events:
            if event.payload["session_id"] != self.stop.session:
                continue
            if event.event == "UserPromptSubmit" and self.stop.prompt_id is not None and self.is_of_it(event):
                self.began = True  # perhaps one that was typed while the agent worked
            else:
                self.take(event)
