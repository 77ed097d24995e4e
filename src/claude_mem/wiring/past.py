"""Puts together how events of the past come in: the same scrub, queue and observer as for those of today.

A story may come in several parts. Which turns of it are private is known only to whoever has heard it from
its beginning; a worker that was started in between has not, and asks for it to be told anew.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from claude_mem.agents.claude_code import events as claude_code
from claude_mem.hook import paths, pause
from claude_mem.hook.drop_counters import NotAPayload
from claude_mem.model.clock import now
from claude_mem.model.errors import EventUnreadable
from claude_mem.model.events import TRANSCRIPT_PREFIX, Event, Origin, TranscriptEvent
from claude_mem.ports.past import NotFromTheStart
from claude_mem.privacy import excluded_files, private_turns, scrub_payload, suspect
from claude_mem.privacy.private_turns import Turns
from claude_mem.settings import Settings
from claude_mem.store.values import (
    Arrival,
    BackfillAccepted,
    BackfillOptions,
    BackfillProgress,
    KnownSession,
    Past,
)

HOLD_MS = 24 * 60 * 60 * 1000
"""A story that was broken off is waited for no longer: then what was told of it is observed as it is."""
MOST_STORIES = 8
LONGEST_ID = 400
LATEST = 253_402_300_799_999  # the end of the year 9999


@dataclass(slots=True)
class _Story:
    turns: Turns = field(default_factory=Turns)
    sessions: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Heard:
    """One request's lines."""

    arrivals: list[Arrival] = field(default_factory=list)
    seals: dict[str, str] = field(default_factory=dict)
    private: int = 0  # of a private turn, or a command of ours
    unwanted: int = 0  # a tool on the skip list, or an event that says nothing
    unreadable: int = 0


class Retelling:
    def __init__(
        self,
        settings: Settings,
        store: Past,
        origin_of: Callable[[str | None], Origin],
        is_wanted: Callable[[Event], bool],
    ) -> None:
        self._store, self._origin_of, self._is_wanted = store, origin_of, is_wanted
        self._rules = settings.secret_patterns
        self._globs = (*excluded_files.DEFAULT_GLOBS, *settings.exclude_paths)
        self._has_rules = bool(settings.secret_patterns or settings.exclude_paths)
        self._stories: dict[str, _Story] = {}
        self._lock = threading.Lock()

    def take(
        self, raw: bytes, *, offline: bool, story: str | None = None, part: str | None = None
    ) -> dict[str, Any]:
        with self._lock:
            mine = self._story(story, part)
            heard = self._heard(raw.split(b"\n"), mine)
            mine.sessions |= dict.fromkeys(arrival.event.session for arrival in heard.arrivals)
            is_whole = story is None or part == "last"
            until = 0 if is_whole else now() + HOLD_MS
            taken = self._store.accept_past(
                heard.arrivals, BackfillOptions(offline=offline, hold_until=until, seals=heard.seals)
            )
            if is_whole and story is not None:
                self._store.release(list(mine.sessions))
                self._stories.pop(story, None)
        return _answer(taken, heard)

    def tell(self, told: Sequence[TranscriptEvent], turns: Turns, *, offline: bool) -> dict[str, Any]:
        """Events from inside this process, of a session that goes on."""
        heard = _Heard()
        for each in told:
            raw = json.dumps(each.payload, separators=(",", ":")).encode()
            self._hear(each, raw, turns, heard)
        return _answer(self._store.accept_past(heard.arrivals, BackfillOptions(offline=offline)), heard)

    def known(self, sessions: Sequence[str]) -> dict[str, KnownSession]:
        unseen = {session: KnownSession("unseen", 0) for session in sessions if _was_unseen(session)}
        return unseen | self._store.known(sessions)

    def progress(self, since: int) -> BackfillProgress:
        return self._store.progress(since)

    def _story(self, story: str | None, part: str | None) -> _Story:
        if story is None:
            return _Story()
        if part == "first":
            self._stories[story] = _Story()
            for old in list(self._stories)[:-MOST_STORIES]:
                del self._stories[old]
        if story not in self._stories:
            raise NotFromTheStart
        return self._stories[story]

    def _heard(self, lines: Sequence[bytes], story: _Story) -> _Heard:
        heard = _Heard()
        for raw in lines:
            if not raw.strip():
                continue
            try:
                found = json.loads(raw)
                if isinstance(found, dict) and "end" in found:
                    heard.seals[_text(found["end"])] = _text(found.get("seal"))
                    continue
                told = _told(found)
            except (ValueError, TypeError, KeyError, RecursionError):
                heard.unreadable += 1
                continue
            if found.get("hid_private") is True:
                story.turns.note(str(told.payload.get("session_id")), private_turns.OPEN)
            self._hear(told, raw, story.turns, heard)
        return heard

    def _hear(self, told: TranscriptEvent, raw: bytes, turns: Turns, heard: _Heard) -> None:
        try:
            kept = self._kept(told, raw, turns)
            event = None
            if kept is not None:
                payload, private = kept
                event = claude_code.parse(told.event, payload, id=told.id, at=told.at, private=private)
        except (NotAPayload, EventUnreadable):
            heard.unreadable += 1
            return
        if kept is None:
            heard.private += 1
        elif event is None or not self._is_wanted(event) or _was_unseen(event.session):
            heard.unwanted += 1
        else:
            # What is checked out there now says nothing about that time.
            origin = replace(self._origin_of(event.cwd), branch=told.branch, commit=None)
            heard.arrivals.append(Arrival(event, origin))

    def _kept(self, told: TranscriptEvent, raw: bytes, turns: Turns) -> tuple[dict[str, object], bool] | None:
        """As a hook does it: what holds nothing suspicious, in a session where nothing was private, is kept
        as it is."""
        payload, session = told.payload, told.payload.get("session_id")
        if not isinstance(session, str) or not session:
            raise NotAPayload
        plain = (
            len(raw) <= scrub_payload.FIELD_CAP
            and not self._has_rules
            and not turns.is_marked(session)
            and not (told.event == "UserPromptSubmit" and b'"/' in raw)  # it may be a command of ours
            and payload.get("source") != "fork"
            and not suspect.is_suspect(raw)
        )
        if plain:
            return payload, False
        return scrub_payload.clean(told.event, payload, self._rules, self._globs, turns)


def _was_unseen(session: str) -> bool:
    """A hook that ran while memory was off has left a note of it."""
    return paths.is_there(pause.skipped_note(session))


def _told(found: object) -> TranscriptEvent:
    """Raises TypeError, ValueError, KeyError."""
    if not isinstance(found, dict):
        raise TypeError
    id, at, payload, branch = _text(found["id"]), found["at"], found["payload"], found.get("branch")
    if not isinstance(payload, dict) or not isinstance(at, int) or isinstance(at, bool):
        raise TypeError
    if not id.startswith(TRANSCRIPT_PREFIX) or len(id) > LONGEST_ID or not 0 <= at <= LATEST:
        raise ValueError
    return TranscriptEvent(
        id, at, _text(found["event"]), payload, _text(branch) if branch is not None else None
    )


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _answer(taken: BackfillAccepted, heard: _Heard) -> dict[str, Any]:
    return {
        "fresh": taken.fresh,
        "duplicate": taken.duplicate,
        "live": taken.live,
        "dropped": heard.private + heard.unwanted,
        "unreadable": heard.unreadable,
    }
