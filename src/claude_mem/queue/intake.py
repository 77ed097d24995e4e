"""How events come in: from the spool, from callers of the API, and from transcripts of the past.

A transcript may come in several parts. Which of its turns are private is known only to a worker that has
taken it in from its beginning; one that was started in between asks for it to be sent anew.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, field

from claude_mem import __version__
from claude_mem.agents import base as agents
from claude_mem.agents.claude_code import events as claude_code
from claude_mem.git import Origins
from claude_mem.hook import drop_counters, paths, pause, spool_writer
from claude_mem.hook.drop_counters import NotAPayload
from claude_mem.model.clock import now
from claude_mem.model.errors import EventUnreadable, NotFromTheStart
from claude_mem.model.events import TRANSCRIPT_PREFIX, Event, Origin, SpooledEvent, TranscriptEvent
from claude_mem.model.structs import replace
from claude_mem.privacy import excluded_files, private_turns, scrub, scrub_payload, suspect, tags
from claude_mem.privacy.excluded_projects import ExcludedProjects
from claude_mem.privacy.private_turns import MemoryMarks
from claude_mem.queue import spool_reader
from claude_mem.queue.ingest import Ingest
from claude_mem.settings import Settings
from claude_mem.store import Store
from claude_mem.store.values import (
    Accepted,
    Arrival,
    BackfillAccepted,
    BackfillOptions,
    BackfillProgress,
    KnownSession,
)

log = logging.getLogger("claude_mem")


class Intake:
    """What hooks have spooled, and what callers of the API report."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._globs = (*excluded_files.DEFAULT_GLOBS, *settings.exclude_paths)
        self._marking = threading.Lock()
        self._draining = threading.Lock()
        self.spool = spool_reader.Spool()
        self.place_of = Origins(now).of
        """Where a directory lies, by the disk and its path alone."""
        self.on_shown: Callable[[str, str, int], None] = ignore_shown
        """Hears of a session that was shown a rendered context: the session, the rendering's stamp, when."""
        self._is_excluded = ExcludedProjects(settings.excluded_projects).holds
        self._store = store
        self._ingest = Ingest(
            *(self.spool, store, self._event, self.place_of, settings.skip_tools, log.warning),
            is_excluded=self._is_of_excluded,
            on_committed=self._note_shown,
        )
        drop_counters.prepare()
        self._weigh_again()

    def drain(self) -> int:
        """One at a time: whoever forgets something drains too, and a file is taken in and removed once."""
        with self._draining:
            taken = self._ingest.drain()
            if not taken and spool_writer.counted_files():
                self._weigh_again()  # killed hooks left their weight behind
            return taken

    def receive(self, name: str, payload: dict[str, object]) -> Accepted:
        """An event that comes by another way than the spool. Durable on return."""
        try:
            with self._marking:  # a marker's lock keeps processes apart, not the threads of this one
                kept = scrub_payload.clean(name, payload, self._settings.secret_patterns, self._globs)
        except drop_counters.NotAPayload:
            raise EventUnreadable("session_id is missing") from None
        if kept is None:
            return Accepted()  # of a private turn
        at = now()
        scrubbed, private = kept
        event = claude_code.parse(
            name, scrubbed, id=f"api-{at:013d}-{os.urandom(8).hex()}", at=at, private=private
        )
        return self._ingest.accept(event) if event else Accepted()

    def origin_of(self, cwd: str | None) -> Origin:
        """Of the project that work in a directory belongs to."""
        return self._store.projects.with_project(self.place_of(cwd))

    def is_wanted(self, event: Event) -> bool:
        return self._ingest.is_wanted(event)

    def cleaned(self, text: str) -> str:
        """Without what may not be kept."""
        return scrub.scrub_text(
            text,
            extra_rules=self._settings.secret_patterns,
            extra_globs=self._settings.exclude_paths,
        )

    def tidy(self) -> None:
        self.spool.tidy(time.time())

    def _is_of_excluded(self, event: Event) -> bool:
        """A worktree that is gone is known by its repository's name, too."""
        by_place = self._is_excluded(event.cwd, event.project)
        return by_place or self._is_excluded(self.place_of(event.cwd).root, None)

    def _event(self, spooled: SpooledEvent) -> Event | None:
        payload = spooled.payload
        if spooled.by != __version__ or spooled.scrub_again:
            # Scrubbed by a hook of another version, or by one that could not read the user's own rules.
            payload, _ = scrub.scrub(
                payload,
                field_cap=scrub.FIELD_CAP,
                extra_rules=self._settings.secret_patterns,
                globs=self._globs,
            )
        agent = agents.load(spooled.agent)
        return agent.parse(
            spooled.event,
            payload,
            id=spooled.id,
            at=spooled.at,
            client=spooled.agent,
            private=spooled.private,
        )

    def _note_shown(self, spooled: SpooledEvent) -> None:
        session = spooled.payload.get("session_id")
        if spooled.context and isinstance(session, str):
            self.on_shown(session, spooled.context, spooled.at)

    def _weigh_again(self) -> None:
        limits = self._settings.spool_max_files, self._settings.spool_max_bytes
        spool_writer.reset_ledger(*self.spool.weigh(), *limits)


def ignore_shown(session: str, stamp: str, at: int) -> None:
    del session, stamp, at


def is_wholly_private(prompt: str) -> bool:
    kept, _, hid_private = tags.strip(prompt)
    return hid_private and not kept.strip()


HOLD_MS = 24 * 60 * 60 * 1000
"""An import that was broken off is waited for no longer: then what came of it is observed as it is."""
MOST_IMPORTS = 8
LONGEST_ID = 400
LATEST = 253_402_300_799_999  # the end of the year 9999


class _Import(Struct):
    """A transcript that is sent in parts."""

    marks: MemoryMarks = field(default_factory=MemoryMarks)
    sessions: dict[str, None] = field(default_factory=dict)


class _Lines(Struct):
    """One request's lines."""

    arrivals: list[Arrival] = field(default_factory=list)
    seals: dict[str, str] = field(default_factory=dict)
    private: int = 0  # of a private turn, or a command of ours
    unwanted: int = 0  # a tool on the skip list, or an event that says nothing
    unreadable: int = 0


class PastIntake:
    """Events of transcripts, through the same scrub, queue and observer as those of today."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        origin_of: Callable[[str | None], Origin],
        is_wanted: Callable[[Event], bool],
    ) -> None:
        self._store, self._origin_of, self._is_wanted = store, origin_of, is_wanted
        self._rules = settings.secret_patterns
        self._globs = (*excluded_files.DEFAULT_GLOBS, *settings.exclude_paths)
        self._has_rules = bool(settings.secret_patterns or settings.exclude_paths)
        self._imports: dict[str, _Import] = {}
        self._lock = threading.Lock()

    def take(
        self, raw: bytes, *, offline: bool, story: str | None = None, part: str | None = None
    ) -> dict[str, Any]:
        """Lines of events; durable on return. Without a `story`: whole ones. Else a part of that: the first,
        one of more, or the last. Raises NotFromTheStart, StoreError."""
        with self._lock:
            mine = self._import(story, part)
            lines = self._read_lines(raw.split(b"\n"), mine)
            mine.sessions |= dict.fromkeys(arrival.event.session for arrival in lines.arrivals)
            is_whole = story is None or part == "last"
            until = 0 if is_whole else now() + HOLD_MS
            taken = self._store.inbox.accept_past(
                lines.arrivals, BackfillOptions(offline=offline, hold_until=until, seals=lines.seals)
            )
            if is_whole and story is not None:
                self._store.inbox.release(list(mine.sessions))
                self._imports.pop(story, None)
        return _answer(taken, lines)

    def accept(self, events: Sequence[TranscriptEvent], marks: MemoryMarks) -> int:
        """Events from inside this process, of a session that goes on. Returns how many were new."""
        lines = _Lines()
        for each in events:
            raw = json.dumps(each.payload, separators=(",", ":")).encode()
            self._take(each, raw, marks, lines)
        return self._store.inbox.accept_past(lines.arrivals, BackfillOptions(offline=False)).fresh

    def known(self, sessions: Sequence[str]) -> dict[str, KnownSession]:
        unseen = {session: KnownSession("unseen", 0) for session in sessions if _was_skipped(session)}
        return unseen | self._store.inbox.known(sessions)

    def progress(self, since: int) -> BackfillProgress:
        return self._store.inbox.progress(since)

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
                    lines.seals[_string(found["end"])] = _string(found.get("seal"))
                    continue
                past = _transcript_event(found)
            except (ValueError, TypeError, KeyError, RecursionError):
                lines.unreadable += 1
                continue
            if found.get("hid_private") is True:
                whole.marks.note(str(past.payload.get("session_id")), private_turns.OPEN)
            self._take(past, raw, whole.marks, lines)
        return lines

    def _take(self, past: TranscriptEvent, raw: bytes, marks: MemoryMarks, lines: _Lines) -> None:
        try:
            kept = self._kept(past, raw, marks)
            event = None
            if kept is not None:
                payload, private = kept
                event = claude_code.parse(past.event, payload, id=past.id, at=past.at, private=private)
        except (NotAPayload, EventUnreadable):
            lines.unreadable += 1
            return
        if kept is None:
            lines.private += 1
        elif event is None or not self._is_wanted(event) or _was_skipped(event.session):
            lines.unwanted += 1
        else:
            # What is checked out there now says nothing about that time.
            origin = replace(self._origin_of(event.cwd), branch=past.branch, commit=None)
            lines.arrivals.append(Arrival(event, origin))

    def _kept(
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
            and not (past.event == "UserPromptSubmit" and b'"/' in raw)  # it may be a command of ours
            and payload.get("source") != "fork"
            and not suspect.is_suspect(raw)
        )
        if plain:
            return payload, False
        return scrub_payload.clean(past.event, payload, self._rules, self._globs, marks)


def _was_skipped(session: str) -> bool:
    """A hook that ran while memory was off has left a note of it."""
    return paths.is_there(pause.skipped_note(session))


def _transcript_event(found: object) -> TranscriptEvent:
    """Raises TypeError, ValueError, KeyError."""
    if not isinstance(found, dict):
        raise TypeError
    id, at, payload, branch = _string(found["id"]), found["at"], found["payload"], found.get("branch")
    if not isinstance(payload, dict) or not isinstance(at, int) or isinstance(at, bool):
        raise TypeError
    if not id.startswith(TRANSCRIPT_PREFIX) or len(id) > LONGEST_ID or not 0 <= at <= LATEST:
        raise ValueError
    return TranscriptEvent(
        id, at, _string(found["event"]), payload, _string(branch) if branch is not None else None
    )


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _answer(taken: BackfillAccepted, lines: _Lines) -> dict[str, Any]:
    return {
        "fresh": taken.fresh,
        "duplicate": taken.duplicate,
        "live": taken.live,
        "dropped": lines.private + lines.unwanted,
        "unreadable": lines.unreadable,
    }
