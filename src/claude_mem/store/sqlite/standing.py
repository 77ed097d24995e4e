"""How a session stands, held in memory while one transaction's arrivals change it, then written back once."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, replace

from claude_mem.model.events import TRANSCRIPT_PREFIX, Event, Kind, Origin
from claude_mem.model.events import around as paths_around
from claude_mem.model.jobs import SessionStatus, next_status
from claude_mem.ports.store import Arrival
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.storable import array, iso, text

_BELIEVABLE = 2**31
"""A prompt's number from a caller who has lost count must not use up all numbers there are."""


@dataclass(slots=True)
class Standing:
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


class Standings:
    """The sessions and projects one transaction has met."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._sessions: dict[str, Standing] = {}
        self._projects: dict[str, int] = {}

    def of(self, arrival: Arrival) -> Standing:
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

    def _find(self, session: str) -> Standing | None:
        row = execute(self._db, "find_standing", claude_session_id=session).fetchone()
        if row is None:
            return None
        return Standing(
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

    def _add(self, arrival: Arrival) -> Standing:
        event, origin = arrival.event, arrival.origin
        project_id = self.project(arrival)
        added = execute(
            self._db,
            "add_session",
            claude_session_id=event.session,
            project=called(self._db, project_id, _whose(arrival), event.project or origin.name),
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
        return Standing(id=added.lastrowid, status=None, updated_at=event.at)

    def project(self, arrival: Arrival) -> int:
        """The project's id; it is made if it is new."""
        origin = _whose(arrival)
        key = text(origin.key)
        if key not in self._projects:
            self._projects[key] = project(self._db, origin, arrival.event.at)
        return self._projects[key]


def project(db: sqlite3.Connection, origin: Origin, at: int) -> int:
    """The id of an origin's project; it is made if it is new."""
    row = around(db, origin) if origin.plain else None
    row = row or execute(db, "find_project", key=text(origin.key)).fetchone()
    if row is not None:
        return int(row["id"])
    added = execute(
        db,
        "add_project",
        key=origin.key,
        name=origin.name,
        root=origin.root,
        remote=origin.remote,
        created_at=iso(at),
        created_at_epoch=at,
    )
    assert added.lastrowid is not None
    return added.lastrowid


def around(db: sqlite3.Connection, origin: Origin) -> sqlite3.Row | None:
    """The project that a plain directory's work belongs to, if one is known: its own, or that of the nearest
    directory above. A repository that is gone is not taken for a part of what was never one."""
    if execute(db, "is_alias", key=text(origin.key)).fetchone():
        return None
    roots = array([text(root) for root in paths_around(origin.root)])
    in_repository = int(origin.branch is not None)
    found: sqlite3.Row | None = execute(
        db, "project_around", roots=roots, in_repository=in_repository, root=text(origin.root)
    ).fetchone()
    return found


def belonging(db: sqlite3.Connection, origin: Origin) -> Origin:
    """The same place, as one of the project that its work belongs to."""
    row = around(db, origin) if origin.plain else None
    if row is None:
        return origin
    return replace(origin, key=row["key"], name=row["name"], root=row["root"], remote=row["remote"])


def called(db: sqlite3.Connection, project_id: int, origin: Origin, otherwise: str) -> str:
    """What people see as an origin's project: the name somebody gave it, or that of the one it was merged
    into."""
    row = execute(db, "project_by_id", id=project_id).fetchone()
    return str(row["name"]) if row["named"] or row["key"] != text(origin.key) else otherwise


def _whose(arrival: Arrival) -> Origin:
    """Where work was done tells whose it is; the name a caller gave does so only where no place is known."""
    origin, name = arrival.origin, arrival.event.project
    if origin.root or not name:
        return origin
    return replace(origin, key=f"name:{name}", name=name)
