"""Accepts events, once each: those that happen now, and those that transcripts of the past tell of."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from claude_mem.model.clock import Clock
from claude_mem.model.events import TRANSCRIPT_PREFIX, Event, Kind, Origin
from claude_mem.model.jobs import JobState, SessionStatus, next_status
from claude_mem.store.sqlite.connection import Readers, Writer, execute, iso, text
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

# How a session stands, held in memory while one transaction's arrivals change it, then written back once.


class Inbox:
    """Accepts events, once each. Any thread may call it; any call may block. Raises StoreError."""

    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        self._readers, self._writer, self._clock = readers, writer, clock

    def accept(self, arrivals: Sequence[Arrival]) -> Accepted:
        """Commit all of them in one transaction: sessions, prompts and queue. Durable on return."""
        return self._writer.run(lambda db: _accept(db, arrivals, self._clock()))

    def accept_past(self, arrivals: Sequence[Arrival], options: BackfillOptions) -> BackfillAccepted:
        """Beside what was captured as it happened, never into it. Durable on return."""
        return self._writer.run(lambda db: _accept_past(db, arrivals, options, self._clock()))

    def release(self, sessions: Sequence[str]) -> None:
        """No more of them is on its way."""

        def work(db: sqlite3.Connection) -> None:
            for session in sessions:
                execute(db, "release_session", session=text(session))

        self._writer.run(work)

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
    """The part of a session that arrivals change."""

    id: int
    status: SessionStatus | None  # None: nothing has arrived yet
    updated_at: int
    prompt_counter: int = 0
    named: bool = False  # its first prompt is known
    completed_at: int | None = None
    end_reason: str | None = None
    cwd: str | None = None
    transcript_path: str | None = None
    branch: str | None = None
    commit: str | None = None
    past: bool = False  # only a transcript tells of it
    first_user_prompt: str | None = None  # to be written, if none is there yet
    changed: bool = False

    def follow(self, event: Event, origin: Origin) -> None:
        """What an event, once accepted, changes."""
        self.changed = True
        self.past = self.past and event.id.startswith(TRANSCRIPT_PREFIX)
        self.status = next_status(self.status, event.kind)
        if event.kind is Kind.SESSION_END:
            self.completed_at, self.end_reason = event.at, event.note
        elif self.status is not SessionStatus.COMPLETED:
            self.completed_at = self.end_reason = None  # resumed
        if event.kind is Kind.PROMPT and not self.named and not event.private and event.text is not None:
            self.named, self.first_user_prompt = True, event.text
        self.cwd = self.cwd or event.cwd
        self.transcript_path = event.transcript_path or self.transcript_path
        if event.at >= self.updated_at:  # a late delivery does not tell where the work stands now
            self.branch, self.commit = origin.branch, origin.commit
            self.updated_at = event.at

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
        for standing in self._sessions.values():
            if standing.changed:
                completed_at = standing.completed_at
                execute(
                    self._db,
                    "change_session",
                    id=standing.id,
                    status=standing.status,
                    prompt_counter=standing.prompt_counter,
                    first_user_prompt=standing.first_user_prompt,
                    cwd=standing.cwd,
                    transcript_path=standing.transcript_path,
                    branch=standing.branch,
                    commit_sha=standing.commit,
                    past=int(standing.past),
                    end_reason=standing.end_reason,
                    updated_at=iso(standing.updated_at),
                    updated_at_epoch=standing.updated_at,
                    completed_at=None if completed_at is None else iso(completed_at),
                    completed_at_epoch=completed_at,
                )

    def _find(self, session: str) -> SessionState | None:
        row = execute(self._db, "find_standing", claude_session_id=session).fetchone()
        if row is None:
            return None
        return SessionState(
            id=row["id"],
            status=SessionStatus(row["status"]),
            prompt_counter=row["prompt_counter"],
            named=bool(row["named"]),
            updated_at=row["updated_at_epoch"],
            completed_at=row["completed_at_epoch"],
            end_reason=row["end_reason"],
            cwd=row["cwd"],
            transcript_path=row["transcript_path"],
            branch=row["branch"],
            commit=row["commit_sha"],
            past=bool(row["past"]),
        )

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
        return SessionState(id=added.lastrowid, status=None, updated_at=event.at)

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


# Taking events in, once each: an arrival changes nothing when its effect is already there.


_UNREMARKABLE = (Kind.SESSION_START, Kind.SESSION_END)
"""Events that only move their session: there is nothing in them to observe."""


def _accept(db: sqlite3.Connection, arrivals: Sequence[Arrival], now: int) -> Accepted:
    standings = SessionStates(db)
    session_ids = []
    fresh = 0
    for arrival in arrivals:
        known = execute(db, "event_accepted", event_id=arrival.event.id).fetchone()
        if known is not None:
            session_ids.append(known["session_id"])
            continue
        standing = standings.of(arrival)
        session_ids.append(standing.id)
        if _take_in(db, arrival, standing, now):
            fresh += 1
    standings.write_back()
    duplicate = len(session_ids) - fresh
    if fresh:
        count(db, "accepted", fresh)
    if duplicate:
        count(db, "duplicate", duplicate)
    return Accepted(fresh, duplicate, tuple(session_ids))


def _take_in(db: sqlite3.Connection, arrival: Arrival, standing: SessionState, now: int) -> bool:
    """Queue an event and let its session follow it; False, with nothing changed, if its effect is there."""
    event = arrival.event
    asks = event.kind is Kind.PROMPT
    if asks:
        number = standing.next_prompt(event.prompt_number)
    elif event.prompt_number is not None:
        number = event.prompt_number
    else:
        number = standing.prompt_counter
    if not _add_job(db, arrival, standing.id, number, now):
        return False
    standing.follow(event, arrival.origin)
    if asks:
        standing.prompt_counter = number
        execute(
            db,
            "add_prompt",
            session_id=standing.id,
            prompt_number=number,
            prompt=None if event.private else event.text,
            private=int(event.private),
            prompt_id=event.prompt_id,
            created_at=iso(event.at),
            created_at_epoch=event.at,
        )
    return True


def _add_job(db: sqlite3.Connection, arrival: Arrival, session_id: int, number: int, now: int) -> bool:
    event, origin = arrival.event, arrival.origin
    settled = event.private or event.kind in _UNREMARKABLE
    tool = None if event.private else event.tool
    added = execute(
        db,
        "add_job",
        event_id=event.id,
        session_id=session_id,
        kind=event.kind,
        effect_key=event.effect_key,
        prompt_number=number,
        tool_name=tool.name if tool else None,
        tool_use_id=tool.use_id if tool else None,
        tool_input=tool.input if tool else None,
        tool_response=tool.response if tool else None,
        text=None if event.private or event.kind is Kind.PROMPT else event.text,
        note=event.note,
        prompt_id=event.prompt_id,
        agent_id=event.agent_id,
        agent_type=event.agent_type,
        cwd=event.cwd,
        branch=origin.branch,
        commit_sha=origin.commit,
        private=int(event.private),
        state=JobState.DONE if settled else JobState.READY,
        created_at=iso(event.at),
        created_at_epoch=event.at,
        settled_at_epoch=now if settled else None,
        characters=_characters(event),
    )
    return added.rowcount == 1


def _characters(event: Event) -> int:
    """How much there is to read in it."""
    if event.private:
        return 0
    texts = (event.text, *((event.tool.input, event.tool.response) if event.tool else ()))
    return sum(len(text) for text in texts if text)


def session_digest(session: str) -> str:
    """By which a forgotten session is known again, and nobody else's can be guessed from it."""
    return hashlib.sha256(text(session).encode()).hexdigest()


# Taking in what transcripts tell: beside what was captured as it happened, never into it.


def _accept_past(
    db: sqlite3.Connection, arrivals: Sequence[Arrival], options: BackfillOptions, now: int
) -> BackfillAccepted:
    named = dict.fromkeys(text(arrival.event.session) for arrival in arrivals)
    live = {session for session, found in _known_sessions(db, list(named)).items() if found.state != "past"}
    ours = [arrival for arrival in arrivals if text(arrival.event.session) not in live]
    accepted = _accept(db, ours, now)
    for session in named:
        if session not in live:
            until = options.hold_until
            execute(db, "mark_past", session=session, offline=int(options.offline), until=until)
    for session, seal in (options.seals or {}).items():
        execute(db, "seal_session", session=text(session), seal=text(seal))
    return BackfillAccepted(accepted.fresh, accepted.duplicate, len(arrivals) - len(ours))


def _known_sessions(db: sqlite3.Connection, sessions: Sequence[str]) -> dict[str, KnownSession]:
    found = {}
    for session in sessions:
        row = execute(db, "past_session", session=text(session)).fetchone()
        if row is not None:
            found[session] = KnownSession("past" if row["past"] else "live", row["events"], row["seal"])
        elif execute(db, "is_forgotten", digest=session_digest(session)).fetchone():
            found[session] = KnownSession("forgotten", 0)
    return found
