"""Reads a transcript as the events that its hooks would have sent, in order, with their times.

A line belongs to the session it names, and an event's id is derived from its line. Clients copy lines: a fork
(and, in older versions, every resumed session) begins with the lines of the previous session, under the new
session's id but with their original uuids. So a copied event has the id of the original and is stored once.
The newest file is read first, so that a conversation is complete under its newest session, and older files
only add the rest.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count as counting
from pathlib import Path

from claude_mem.agents.catalog import Transcript
from claude_mem.agents.claude_code import transcript_files, transcript_lines, transcript_turns
from claude_mem.agents.claude_code.transcript_files import find, projects_folder
from claude_mem.agents.claude_code.transcript_lines import Line, LineTally, TranscriptReading
from claude_mem.agents.claude_code.transcript_turns import Chain
from claude_mem.model.events import TranscriptEvent

MOST_SESSIONS = 64  # named in one file
MOST_PROMPTS = 256  # whose subagents may still be at work
MOST_TIPS = 1024  # a line that nothing hangs on stays one
MOST_SIDES = 64  # chains of subagents in one file that are open at once

_USE = b'"type":"tool_use"'
_ENDS = (b'"stop_reason":"end_turn"', b'"stop_reason":"stop_sequence"')
_TEXT = b'"type":"text"'

Timed = tuple[int, TranscriptEvent | None]
__all__ = ["count", "find", "projects_folder", "read"]


def read(path: Path, of_agents: Sequence[Path] | None = None, *, over: bool = True) -> TranscriptReading:
    """Reads a main session's file, with its subagents' files (None: those in the session's folder). Not
    `over`: it is still being written, so its last line is not the session's end. Iterating raises OSError if
    the file cannot be opened, but no error for its contents."""
    of_agents, tally = transcript_files.subagent_files(path) if of_agents is None else of_agents, LineTally()
    return TranscriptReading(_events(path, of_agents, tally, over=over), tally)


def count(transcript: Transcript) -> tuple[int, int]:
    """Tool uses and turns, without parsing lines; a file that cannot be read counts as nothing."""
    uses = turns = 0
    for path in (transcript.path, *transcript.agents):
        tally = LineTally()
        with suppress(OSError):
            for _, raw in transcript_lines.raw_lines(path, tally):
                if not transcript_lines.is_silent(raw, tally):
                    uses += raw.count(_USE)
                    turns += path == transcript.path and _TEXT in raw and any(end in raw for end in _ENDS)
    return uses, turns


def _events(
    path: Path, of_agents: Sequence[Path], tally: LineTally, *, over: bool
) -> Iterator[TranscriptEvent]:
    main = _Main(path)
    streams = [_in_time_order(main.read(tally)), *(_subagent(file, main, tally) for file in of_agents)]
    latest, prompt_fields = 0, _PromptFields()
    for at, event in heapq.merge(*streams, key=lambda timed: timed[0]):
        latest = max(latest, at)
        if event is not None:
            prompt_fields.complete(event.payload)
            yield event
    if over:
        yield from main.ends(latest)


def _in_time_order(events: Iterator[TranscriptEvent]) -> Iterator[Timed]:
    """The lines with times that never decrease. Clients do not always write lines in the order of their
    times."""
    at = 0
    for each in events:
        at = max(at, each.at)
        yield at, each


def _subagent(path: Path, main: _Main, tally: LineTally) -> Iterator[Timed]:
    """Reads a subagent's events; its file is only open during its time span."""
    began = transcript_files.started_at(path)
    if began is None:
        return
    yield began, None
    chain = Chain(
        main.session, main.path, transcript_files.agent_id(path), transcript_files.agent_type(path), str(path)
    )
    try:
        for event in _chained(chain, transcript_lines.read(path, tally)):
            began = max(began, event.at)
            yield began, event
    except OSError as error:
        tally.lost(0, f"a subagent's file cannot be read: {error}")


class _PromptFields:
    """Of its prompt a subagent's file knows the id; the number, and what it may do, are the session's."""

    def __init__(self) -> None:
        self.by_prompt: dict[object, tuple[object, object]] = {}
        self.current: tuple[object, object] | None = None

    def complete(self, payload: dict[str, object]) -> None:
        prompt = payload.get("prompt_id")
        if "agent_id" not in payload:
            if "prompt_number" in payload and "permission_mode" in payload:
                self.current = payload["prompt_number"], payload["permission_mode"]
                self.by_prompt[prompt] = self.current
                if len(self.by_prompt) > MOST_PROMPTS:
                    del self.by_prompt[next(iter(self.by_prompt))]
        elif "prompt_number" not in payload and (fields := self.by_prompt.get(prompt, self.current)):
            payload["prompt_number"], payload["permission_mode"] = fields


def _chained(chain: Chain, found: Iterator[Line]) -> Iterator[TranscriptEvent]:
    for line in found:
        yield from chain.take(line)
    yield from chain.close()


class _Main:
    """A session's own file: its sessions, usually one, and the side chains older clients wrote into it."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.sessions: dict[str, Chain] = {}
        self.session = path.name.partition(".")[0]  # the last one named
        self.sides: dict[str, Chain] = {}
        self.tips: dict[str, str] = {}  # a line's uuid, and the side chain it is the last of
        self.unnamed = counting(1)

    def read(self, tally: LineTally) -> Iterator[TranscriptEvent]:
        for line in transcript_lines.read(Path(self.path), tally):
            main = self._chain(line)
            if line.fields.get("isSidechain") or line.fields.get("agentId"):
                yield from self._side_chain(line, main)
                continue
            for event in main.take(line):
                yield from self._answered(event)
                yield event
        for side in list(self.sides):
            yield from self._closed(side)
        for chain in self.sessions.values():
            yield from chain.close()

    def ends(self, latest: int) -> Iterator[TranscriptEvent]:
        for chain in self.sessions.values():
            if chain.started and chain.last:
                alone = len(self.sessions) == 1
                at = max(latest, chain.last.at) if alone else chain.last.at
                yield chain.end(chain.last._replace(at=at))

    def _chain(self, line: Line) -> Chain:
        named = line.text("sessionId") or self.session
        if named not in self.sessions:
            if len(self.sessions) >= MOST_SESSIONS:
                named = next(iter(self.sessions))
            else:
                self.sessions[named] = Chain(named, self.path)
        self.session = named
        return self.sessions[named]

    def _side_chain(self, line: Line, main: Chain) -> Iterator[TranscriptEvent]:
        key = self._side_of(line)
        if key not in self.sides:
            if len(self.sides) >= MOST_SIDES:
                yield from self._closed(next(iter(self.sides)))
            self.sides[key] = Chain(main.session, self.path, key, self._type(line, main))
        side = self.sides[key]
        uuid, parent = line.text("uuid"), line.text("parentUuid")
        self.tips.pop(parent or "", None)
        if uuid:
            self.tips[uuid] = key
            if len(self.tips) > MOST_TIPS:
                del self.tips[next(iter(self.tips))]
        side.number, side.prompt_id, side.mode = main.number, main.prompt_id, main.mode
        yield from side.take(line)

    def _side_of(self, line: Line) -> str:
        named = line.text("agentId")
        if named:
            return named
        for result in _parts(line, "tool_result"):
            for key, side in self.sides.items():
                if str(result.get("tool_use_id")) in side.calls:
                    return key
        parent = line.text("parentUuid")
        if parent is None or not self.sides:
            return f"side-{line.text('uuid') or next(self.unnamed)}"
        return self.tips.get(parent) or next(reversed(self.sides))

    def _type(self, line: Line, main: Chain) -> str | None:
        """What the agent is, by the call that gave it its task."""
        message = line.fields.get("message")
        task = transcript_turns.text_of(message.get("content")) if isinstance(message, Mapping) else ""
        for call in main.calls.values():
            given = call.get("input")
            if task and isinstance(given, Mapping) and given.get("prompt") == task:
                kind = given.get("subagent_type")
                return kind if isinstance(kind, str) else None
        return None

    def _answered(self, event: TranscriptEvent) -> Iterator[TranscriptEvent]:
        """Ends a side chain, once its caller has its answer."""
        given = event.payload.get("tool_input")
        kind = given.get("subagent_type") if isinstance(given, Mapping) else None
        if kind and self.sides and event.event.startswith("PostToolUse"):
            yield from self._closed(
                next((key for key, side in self.sides.items() if side.agent_type == kind), "")
            )

    def _closed(self, key: str) -> Iterator[TranscriptEvent]:
        side = self.sides.pop(key, None)
        self.tips = {uuid: owner for uuid, owner in self.tips.items() if owner != key}
        if side:
            yield from side.close(answered=True)


def _parts(line: Line, kind: str) -> Iterator[Mapping[str, object]]:
    message = line.fields.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    for part in content if isinstance(content, list) else []:
        if isinstance(part, Mapping) and part.get("type") == kind:
            yield part
