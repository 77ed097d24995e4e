"""Accepts events, once each: those that happen now, and those that transcripts of the past tell of."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from msgspec import Struct

from claude_mem.model.clock import Clock
from claude_mem.model.events import TRANSCRIPT_PREFIX, Event, Kind, Origin
from claude_mem.model.jobs import JobState, SessionStatus, next_status
from claude_mem.model.structs import replace
from claude_mem.store.sqlite.connection import (
    Part,
    Readers,
    Writer,
    columns,
    execute,
    iso,
    text,
    transaction,
)
from claude_mem.store.sqlite.projects import display_name, project_of
from claude_mem.store.sqlite.queue import count
from claude_mem.store.values import (
    Accepted,
    Arrival,
    BackfillAccepted,
    BackfillOptions,
    BackfillProgress,
    KnownSession,
)


class Inbox(Part):
    """Accepts events, once each: an arrival changes nothing when its effect is already there."""

    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        super().__init__(readers, writer)
        self._clock = clock

    @transaction
    def accept(self, db: sqlite3.Connection, arrivals: Sequence[Arrival]) -> Accepted:
        """Commit all of them in one transaction: sessions, prompts and queue. Durable on return."""
        return _accept(db, arrivals, self._clock())

    @transaction
    def accept_past(
        self, db: sqlite3.Connection, arrivals: Sequence[Arrival], options: BackfillOptions
    ) -> BackfillAccepted:
        """Beside what was captured as it happened, never into it. Durable on return."""
        named = dict.fromkeys(text(arrival.event.session) for arrival in arrivals)
        known = _known_sessions(db, list(named))
        live = {session for session, found in known.items() if found.state != "past"}
        ours = [arrival for arrival in arrivals if text(arrival.event.session) not in live]
        accepted = _accept(db, ours, self._clock())
        for session in named:
            if session not in live:
                until = options.hold_until
                execute(db, "mark_past", session=session, offline=int(options.offline), until=until)
        for session, seal in (options.seals or {}).items():
            execute(db, "seal_session", session=text(session), seal=text(seal))
        return BackfillAccepted(accepted.fresh, accepted.duplicate, len(arrivals) - len(ours))

    @transaction
    def release(self, db: sqlite3.Connection, sessions: Sequence[str]) -> None:
        """No more of them is on its way."""
        for session in sessions:
            execute(db, "release_session", session=text(session))

    def known(self, sessions: Sequence[str]) -> dict[str, KnownSession]:
        with self._readers.read() as db:
            return _known_sessions(db, sessions)

    def progress(self, since: int) -> BackfillProgress:
        with self._readers.read() as db:
            (waiting,) = execute(db, "past_waiting", now=self._clock()).fetchone()
            spent = execute(db, "spent_on_past", since=since).fetchone()
        return BackfillProgress(int(waiting), spent["tokens"], spent["usd"])


_BELIEVABLE = 2**31
"""A prompt's number from a caller who has lost count must not use up all numbers there are."""


class SessionState(Struct):
    """The columns of a session that arrivals change: held in memory during a transaction, then written back
    once."""

    id: int
    status: SessionStatus | None  # None: nothing has arrived yet
    updated_at_epoch: int
    prompt_counter: int = 0
    named: bool = False  # its first prompt is known
    completed_at_epoch: int | None = None
    end_reason: str | None = None
    cwd: str | None = None
    transcript_path: str | None = None
    branch: str | None = None
    commit_sha: str | None = None
    past: bool = False  # only a transcript tells of it
    first_user_prompt: str | None = None  # to be written, if none is there yet
    changed: bool = False

    def follow(self, event: Event, origin: Origin) -> None:
        """What an event, once accepted, changes."""
        self.changed = True
        self.past = self.past and event.id.startswith(TRANSCRIPT_PREFIX)
        self.status = next_status(self.status, event.kind)
        if event.kind is Kind.SESSION_END:
            self.completed_at_epoch, self.end_reason = event.at, event.note
        elif self.status is not SessionStatus.COMPLETED:
            self.completed_at_epoch = self.end_reason = None  # resumed
        if event.kind is Kind.PROMPT and not self.named and not event.private and event.text is not None:
            self.named, self.first_user_prompt = True, event.text
        self.cwd = self.cwd or event.cwd
        self.transcript_path = event.transcript_path or self.transcript_path
        if event.at >= self.updated_at_epoch:  # a late delivery does not tell where the work stands now
            self.branch, self.commit_sha = origin.branch, origin.commit
            self.updated_at_epoch = event.at

    def next_prompt(self, given: int | None) -> int:
        """A prompt's number: one more than the last, or the caller's if that is further on."""
        counted = self.prompt_counter + 1
        return given if given is not None and counted < given < _BELIEVABLE else counted


class SessionStates:
    """The sessions and projects one transaction has met."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._sessions: dict[str, SessionState] = {}
        self._projects: dict[str, int] = {}

    def of(self, arrival: Arrival) -> SessionState:
        """The arrival's session, made (with its project) if it is new: whatever came first, it is welcome."""
        session = text(arrival.event.session)
        if session not in self._sessions:
            self._sessions[session] = self._find(session) or self._add(arrival)
        return self._sessions[session]

    def write_back(self) -> None:
        for state in self._sessions.values():
            if state.changed:
                ended = state.completed_at_epoch
                times = {
                    "updated_at": iso(state.updated_at_epoch),
                    "completed_at": None if ended is None else iso(ended),
                }
                execute(self._db, "change_session", **columns(state), **times)

    def _find(self, session: str) -> SessionState | None:
        row = execute(self._db, "find_standing", claude_session_id=session).fetchone()
        if row is None:
            return None
        flags = {"named": bool(row["named"]), "past": bool(row["past"])}
        return SessionState(**dict(row) | flags | {"status": SessionStatus(row["status"])})

    def _add(self, arrival: Arrival) -> SessionState:
        event, origin = arrival.event, arrival.origin
        project_id = self.project(arrival)
        added = execute(
            self._db,
            "add_session",
            claude_session_id=event.session,
            project=display_name(self._db, project_id, _whose(arrival), event.project or origin.name),
            project_id=project_id,
            status=next_status(None, event.kind),
            client=event.client,
            cwd=event.cwd,
            transcript_path=event.transcript_path,
            branch=origin.branch,
            commit_sha=origin.commit,
            at=iso(event.at),
            at_epoch=event.at,
        )
        assert added.lastrowid is not None
        return SessionState(id=added.lastrowid, status=None, updated_at_epoch=event.at)

    def project(self, arrival: Arrival) -> int:
        """The project's id; it is made if it is new."""
        origin = _whose(arrival)
        key = text(origin.key)
        if key not in self._projects:
            self._projects[key] = project_of(self._db, origin, arrival.event.at)
        return self._projects[key]


def _whose(arrival: Arrival) -> Origin:
    """Where work was done tells whose it is; the name a caller gave does so only where no place is known."""
    origin, name = arrival.origin, arrival.event.project
    if origin.root or not name:
        return origin
    return replace(origin, key=f"name:{name}", name=name)


_UNREMARKABLE = (Kind.SESSION_START, Kind.SESSION_END)
"""Events that only move their session: there is nothing in them to observe."""


def _accept(db: sqlite3.Connection, arrivals: Sequence[Arrival], now: int) -> Accepted:
    states = SessionStates(db)
    session_ids = []
    fresh = 0
    for arrival in arrivals:
        known = execute(db, "event_accepted", event_id=arrival.event.id).fetchone()
        if known is not None:
            session_ids.append(known["session_id"])
            continue
        state = states.of(arrival)
        session_ids.append(state.id)
        fresh += _take_in(db, arrival, state, now)
    states.write_back()
    duplicate = len(session_ids) - fresh
    if fresh:
        count(db, "accepted", fresh)
    if duplicate:
        count(db, "duplicate", duplicate)
    return Accepted(fresh, duplicate, tuple(session_ids))


def _take_in(db: sqlite3.Connection, arrival: Arrival, state: SessionState, now: int) -> bool:
    """Queue an event and let its session follow it; False, with nothing changed, if its effect is there."""
    event, origin = arrival.event, arrival.origin
    is_prompt = event.kind is Kind.PROMPT
    if is_prompt:
        number = state.next_prompt(event.prompt_number)
    else:
        number = state.prompt_counter if event.prompt_number is None else event.prompt_number
    settled = event.private or event.kind in _UNREMARKABLE
    tool = None if event.private else event.tool
    values = columns(event) | {
        "session_id": state.id,
        "prompt_number": number,
        "created_at": iso(event.at),
        "created_at_epoch": event.at,
    }
    job = values | {
        "event_id": event.id,
        "effect_key": event.effect_key,
        "tool_name": tool and tool.name,
        "tool_use_id": tool and tool.use_id,
        "tool_input": tool and tool.input,
        "tool_response": tool and tool.response,
        "text": None if event.private or is_prompt else event.text,
        "branch": origin.branch,
        "commit_sha": origin.commit,
        "state": JobState.DONE if settled else JobState.READY,
        "settled_at_epoch": now if settled else None,
        "characters": _characters(event),
    }
    if not execute(db, "add_job", **job).rowcount:
        return False
    state.follow(event, origin)
    if is_prompt:
        state.prompt_counter = number
        execute(db, "add_prompt", **values, prompt=None if event.private else event.text)
    return True


def _characters(event: Event) -> int:
    """How much there is to read in it."""
    if event.private:
        return 0
    texts = (event.text, *((event.tool.input, event.tool.response) if event.tool else ()))
    return sum(len(text) for text in texts if text)


def session_digest(session: str) -> str:
    """By which a forgotten session is known again, and nobody else's can be guessed from it."""
    return hashlib.sha256(text(session).encode()).hexdigest()


def _known_sessions(db: sqlite3.Connection, sessions: Sequence[str]) -> dict[str, KnownSession]:
    found = {}
    for session in sessions:
        row = execute(db, "past_session", session=text(session)).fetchone()
        if row is not None:
            found[session] = KnownSession("past" if row["past"] else "live", row["events"], row["seal"])
        elif execute(db, "is_forgotten", digest=session_digest(session)).fetchone():
            found[session] = KnownSession("forgotten", 0)
    return found
