"""Accepts events, each exactly once: live ones, and past ones from transcripts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from claude_mem.api.system import BackfillProgress, KnownSession
from claude_mem.model.clock import iso
from claude_mem.model.events import TRANSCRIPT_PREFIX, Event, Kind, Origin
from claude_mem.model.jobs import JobState, SessionStatus, next_status
from claude_mem.model.structs import replace
from claude_mem.store.relational.part import Connection, Part, added, execute, transaction
from claude_mem.store.relational.projects import display_name, project_of
from claude_mem.store.relational.queue import count
from claude_mem.store.relational.rows import columns, session_digest, text, value_of
from claude_mem.store.values import (
    Accepted,
    BackfillAccepted,
    BackfillOptions,
    NewEvent,
)

_PROMPT_LIMIT = 2**31
"""A caller's prompt number beyond this is ignored: it would use up all numbers."""
_NOT_OBSERVED = (Kind.SESSION_START, Kind.SESSION_END)
"""Events that only change their session's state, so there is nothing to observe."""


class Events(Part):
    """Accepts events, each once: an event whose effect is already stored changes nothing."""

    @transaction
    def accept(self, db: Connection, events: Sequence[NewEvent]) -> Accepted:
        return _accept(db, events, self._clock())

    @transaction
    def accept_past(
        self, db: Connection, events: Sequence[NewEvent], options: BackfillOptions
    ) -> BackfillAccepted:
        """Events from transcripts. They never change a session that was captured live."""
        named = dict.fromkeys(text(new.event.session) for new in events)
        known = _known_sessions(db, list(named))
        live = {session for session, found in known.items() if found.state != "past"}
        finished = [new for new in events if text(new.event.session) not in live]
        accepted = _accept(db, finished, self._clock())
        for session in named.keys() - live:
            until = options.hold_until
            execute(db, "mark_past", session=session, offline=int(options.offline), until=until)
        for session, seal in (options.seals or {}).items():
            execute(db, "seal_session", session=text(session), seal=text(seal))
        return BackfillAccepted(accepted.fresh, accepted.duplicate, len(events) - len(finished))

    @transaction
    def release(self, db: Connection, sessions: Sequence[str]) -> None:
        """Marks that no more events of these sessions will arrive."""
        for session in sessions:
            execute(db, "release_session", session=text(session))

    def known(self, sessions: Sequence[str]) -> dict[str, KnownSession]:
        with self._readers.read() as db:
            return _known_sessions(db, sessions)

    def progress(self, since: int) -> BackfillProgress:
        waiting = self._number("past_waiting", now=self._clock())
        (spent,) = self._rows("spent_on_past", since=since)
        return BackfillProgress(waiting, **spent, paused=None)

    def has_prompt(self, session: str, prompt: str) -> bool:
        """Whether the session's current turn has a prompt, or this was its last prompt."""
        row = self._row("turn_prompt", session=text(session))
        return row is not None and (row["kind"] == Kind.PROMPT or row["prompt"] == text(prompt))

    def is_forgotten(self, session: str) -> bool:
        """Whether all of it was forgotten, even if it has continued since: its transcript is not read."""
        return self._row("is_forgotten", digest=session_digest(session)) is not None


class SessionRow(Struct):
    """The columns of a session that events change: kept in memory during a transaction, then written once."""

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
    past: bool = False  # it is known from a transcript only
    first_user_prompt: str | None = None  # to be written, if none is there yet
    title: str | None = None  # likewise
    changed: bool = False

    def follow(self, new: NewEvent) -> None:
        """Applies an accepted event."""
        event, origin = new.event, new.origin
        self.changed = True
        self.past = self.past and event.id.startswith(TRANSCRIPT_PREFIX)
        self.status = next_status(self.status, event.kind)
        if event.kind is Kind.SESSION_END:
            self.completed_at_epoch, self.end_reason = event.at, event.note
        elif self.status is not SessionStatus.COMPLETED:
            self.completed_at_epoch = self.end_reason = None  # resumed
        if event.kind is Kind.PROMPT and not self.named and not event.private and event.text is not None:
            self.named, self.first_user_prompt = True, event.text
        self.title = self.title or (None if event.private else new.title)
        self.cwd = self.cwd or event.cwd
        self.transcript_path = event.transcript_path or self.transcript_path
        if event.at >= self.updated_at_epoch:  # a late event does not show the current branch
            self.branch, self.commit_sha = origin.branch, origin.commit
            self.updated_at_epoch = event.at

    def prompt_number(self, event: Event) -> int:
        """For a prompt, the number after the last one, or the caller's if that is higher."""
        given, following = event.prompt_number, self.prompt_counter + 1
        if event.kind is Kind.PROMPT:
            return given if given is not None and following < given < _PROMPT_LIMIT else following
        return self.prompt_counter if given is None else given


class SessionCache:
    """The sessions and projects that one transaction uses."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._sessions: dict[str, SessionRow] = {}
        self._projects: dict[str, int] = {}

    def of(self, new: NewEvent) -> SessionRow:
        """The event's session, created with its project if it is new, whatever its first event is."""
        session = text(new.event.session)
        if session not in self._sessions:
            row = execute(self._db, "find_session_state", claude_session_id=session).fetchone()
            found = self._added(new) if row is None else value_of(SessionRow, row)
            self._sessions[session] = found
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

    def _added(self, new: NewEvent) -> SessionRow:
        event, origin = new.event, _owner(new)
        key = text(origin.key)
        if key not in self._projects:
            self._projects[key] = project_of(self._db, origin, event.at)
        project_id = self._projects[key]
        values = columns(event) | {
            "claude_session_id": event.session,
            "project": display_name(self._db, project_id, origin, event.project or origin.name),
            "project_id": project_id,
            "status": next_status(None, event.kind),
            "branch": origin.branch,
            "commit_sha": origin.commit,
            "created_at": iso(event.at),
            "created_at_epoch": event.at,
        }
        return SessionRow(id=added(self._db, "add_session", **values), status=None, updated_at_epoch=event.at)


def _owner(new: NewEvent) -> Origin:
    """The directory decides the project; the name that a caller gave decides only if there is no
    directory."""
    origin, name = new.origin, new.event.project
    return origin if origin.root or not name else replace(origin, key=f"name:{name}", name=name)


def _accept(db: Connection, events: Sequence[NewEvent], now: int) -> Accepted:
    cache = SessionCache(db)
    session_ids = []
    fresh = 0
    for new in events:
        known = execute(db, "event_accepted", event_id=new.event.id).fetchone()
        if known is not None:
            session_ids.append(known["session_id"])
            continue
        state = cache.of(new)
        session_ids.append(state.id)
        fresh += _queue(db, new, state, now)
    cache.write_back()
    duplicate = len(session_ids) - fresh
    for name, number in (("accepted", fresh), ("duplicate", duplicate)):
        if number:
            count(db, name, number)
    return Accepted(fresh, duplicate, tuple(session_ids))


def _queue(db: Connection, new: NewEvent, state: SessionRow, now: int) -> bool:
    """Queues an event and applies it to its session; False, with nothing changed, if it is a duplicate."""
    event, origin = new.event, new.origin
    is_prompt, number = event.kind is Kind.PROMPT, state.prompt_number(event)
    if is_prompt and _is_repeated(db, event):
        return False
    settled = event.private or event.kind in _NOT_OBSERVED
    words, tool = (None, None) if event.private else (event.text, event.tool)
    texts = (words, *((tool.input, tool.response) if tool else ()))
    values = columns(event) | {
        "session_id": state.id,
        "prompt_number": number,
        "created_at": iso(event.at),
        "created_at_epoch": event.at,
    }
    job = values | {
        "event_id": event.id,
        "effect_key": event.effect_key_in(number),
        "tool_name": tool and tool.name,
        "tool_use_id": tool and tool.use_id,
        "tool_input": tool and tool.input,
        "tool_response": tool and tool.response,
        "text": None if is_prompt else words,
        "branch": origin.branch,
        "commit_sha": origin.commit,
        "state": JobState.DONE if settled else JobState.READY,
        "settled_at_epoch": now if settled else None,
        "characters": sum(len(one) for one in texts if one),
    }
    if not execute(db, "add_job", **job).rowcount:
        if event.kind is Kind.TOOL_FAILURE:  # a transcript may know of a failure that the hook did not report
            execute(db, "mark_failed", session_id=state.id, effect_key=job["effect_key"])
        return False
    state.follow(new)
    if is_prompt:
        state.prompt_counter = number
        execute(db, "add_prompt", **values, prompt=words)
    return True


def _is_repeated(db: Connection, event: Event) -> bool:
    """Whether a prompt without a turn id repeats the one that began the current turn: two hooks reported
    it."""
    if event.prompt_id or not event.has_agent_in_session:
        return False
    row = execute(db, "turn_prompt", session=text(event.session)).fetchone()
    words = None if event.private or event.text is None else text(event.text)
    return row is not None and row["kind"] == Kind.PROMPT and row["prompt"] == words


def _known_sessions(db: Connection, sessions: Sequence[str]) -> dict[str, KnownSession]:
    found = {}
    for session in sessions:
        row = execute(db, "past_session", session=text(session)).fetchone()
        if row is not None:
            found[session] = KnownSession("past" if row["past"] else "live", row["events"], row["seal"])
        elif execute(db, "is_forgotten", digest=session_digest(session)).fetchone():
            found[session] = KnownSession("forgotten", 0, None)
    return found
