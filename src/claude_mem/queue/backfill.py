"""Takes in events from transcripts of past sessions, scrubbed, queued and observed like live events.

A transcript may arrive in several parts. Only a worker that has read it from the beginning knows which of its
turns are private. A worker that was started in between asks for the whole transcript again.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from typing import Any

from msgspec import Struct, ValidationError, convert, field
from msgspec.structs import asdict

from claude_mem.agents import catalog as agents
from claude_mem.agents import hook_payload
from claude_mem.api.system import KnownSession
from claude_mem.hook import pause
from claude_mem.hook.drop_counters import NotAPayload
from claude_mem.model.clock import now
from claude_mem.model.errors import EventUnreadable, NotFromTheStart
from claude_mem.model.events import TranscriptEvent
from claude_mem.model.structs import replace
from claude_mem.privacy import excluded_files, private_turns, scrub, scrub_payload, suspect
from claude_mem.privacy.private_turns import MemoryMarks
from claude_mem.queue.intake import Intake, with_clean_branch
from claude_mem.settings import Settings
from claude_mem.store.base import Store
from claude_mem.store.values import BackfillOptions, NewEvent

HOLD_MS = 24 * 60 * 60 * 1000
"""How long to wait for the rest of an interrupted import, before the part that arrived is observed."""
MOST_IMPORTS = 8


class _Import(Struct):
    """A transcript that is sent in parts."""

    marks: MemoryMarks = field(default_factory=MemoryMarks)
    sessions: dict[str, None] = field(default_factory=dict)


class _Sealed(Struct):
    """The end of a session's lines."""

    end: str
    seal: str


class _Lines(Struct):
    """One request's lines."""

    events: list[NewEvent] = field(default_factory=list)
    seals: dict[str, str] = field(default_factory=dict)
    dropped: int = 0  # of a private turn or one of our commands; of a skipped tool; or without a text
    unreadable: int = 0


class Backfill:
    """Takes in events from transcripts, scrubbed, queued and observed like live events."""

    def __init__(self, settings: Settings, store: Store, intake: Intake) -> None:
        self._store, self._intake = store, intake
        self._rules = settings.secret_patterns
        self._globs = (*excluded_files.DEFAULT_GLOBS, *settings.exclude_paths)
        self._has_rules = bool(settings.secret_patterns or settings.exclude_paths)
        self._imports: dict[str, _Import] = {}
        self._lock = threading.Lock()

    def take(
        self, raw: bytes, *, offline: bool, story: str | None = None, part: str | None = None
    ) -> dict[str, Any]:
        """Lines of events; durable on return. Without a `story`: complete sessions. Otherwise a part of one:
        the first, one of more, or the last. Raises NotFromTheStart, StoreError."""
        with self._lock:
            mine = self._import(story, part)
            lines = self._read_lines(raw.split(b"\n"), mine)
            mine.sessions |= dict.fromkeys(new.event.session for new in lines.events)
            is_whole = story is None or part == "last"
            until = 0 if is_whole else now() + HOLD_MS
            taken = self._store.events.accept_past(
                lines.events, BackfillOptions(offline=offline, hold_until=until, seals=lines.seals)
            )
            if is_whole and story is not None:
                self._store.events.release(list(mine.sessions))
                self._imports.pop(story, None)
        return {**asdict(taken), "dropped": lines.dropped, "unreadable": lines.unreadable}

    def accept(self, events: Sequence[TranscriptEvent], marks: MemoryMarks) -> int:
        """Events from inside this process, of a session that is still running. Returns how many were new."""
        lines = _Lines()
        for each in events:
            raw = json.dumps(each.payload, separators=(",", ":")).encode()
            self._take(each, raw, marks, lines)
        return self._store.events.accept_past(lines.events, BackfillOptions(offline=False)).fresh

    def known(self, sessions: Sequence[str]) -> dict[str, KnownSession]:
        skipped = filter(pause.was_skipped, sessions)
        return dict.fromkeys(skipped, KnownSession("unseen", 0, None)) | self._store.events.known(sessions)

    def _import(self, story: str | None, part: str | None) -> _Import:
        if story is None:
            return _Import()
        if part == "first":
            self._imports[story] = _Import()
            for old in list(self._imports)[:-MOST_IMPORTS]:
                del self._imports[old]
        if story not in self._imports:
            raise NotFromTheStart
        return self._imports[story]

    def _read_lines(self, raw_lines: Sequence[bytes], whole: _Import) -> _Lines:
        lines = _Lines()
        for raw in raw_lines:
            if not raw.strip():
                continue
            try:
                found = json.loads(raw)
                if isinstance(found, dict) and "end" in found:
                    sealed = convert(found, _Sealed)
                    lines.seals[sealed.end] = sealed.seal
                    continue
                past = convert(found, TranscriptEvent)
            except (ValueError, ValidationError, RecursionError):
                lines.unreadable += 1
                continue
            if found.get("hid_private") is True:
                whole.marks.note(str(past.payload.get("session_id")), private_turns.OPEN)
            self._take(past, raw, whole.marks, lines)
        return lines

    def _take(self, past: TranscriptEvent, raw: bytes, marks: MemoryMarks, lines: _Lines) -> None:
        try:
            cleaned = self._scrubbed(past, raw, marks)
            event = None
            if cleaned is not None:
                payload, private = cleaned
                agents.load(past.agent)  # raises EventUnreadable for one that is not known here
                event = hook_payload.parse(
                    past.event, payload, id=past.id, at=past.at, client=past.agent, private=private
                )
        except (NotAPayload, EventUnreadable):
            lines.unreadable += 1
            return
        if event is None or not self._intake.is_recorded(event) or pause.was_skipped(event.session):
            lines.dropped += 1
            return
        # The branch that is checked out now does not apply to that time.
        origin = replace(self._intake.location_of(event.cwd), branch=past.branch, commit=None)
        origin = with_clean_branch(origin, self._intake.cleaned)
        lines.events.append(self._intake.new_event(event, origin))

    def _scrubbed(
        self, past: TranscriptEvent, raw: bytes, marks: MemoryMarks
    ) -> tuple[dict[str, object], bool] | None:
        """As a hook does it: what holds nothing suspicious, in a session where nothing was private, is kept
        as it is."""
        payload, session = past.payload, past.payload.get("session_id")
        if not isinstance(session, str) or not session:
            raise NotAPayload
        plain = (
            len(raw) <= scrub.FIELD_CAP
            and not self._has_rules
            and marks.read(session) is None
            and not (past.event == "UserPromptSubmit" and b'"/' in raw)  # it may be one of our commands
            and payload.get("source") not in ("fork", "resume")
            and not suspect.is_suspect(raw)
        )
        if plain:
            return payload, False
        return scrub_payload.clean(past.event, payload, self._rules, self._globs, marks)
