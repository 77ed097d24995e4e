"""What the store's callers hand in and get back, whatever database is behind it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from claude_mem.model.events import Event, Origin
from claude_mem.model.jobs import Gathered, Job, JobState, Lease, QueueFigures, Session, Spend, Spent
from claude_mem.model.memory import Batch, Memory, Observation
from claude_mem.model.records import Record
from claude_mem.model.refs import Card, Filters, MemoryKind, Ref, Source

# What the stages ask of the store. Every backend passes the contract suite in `tests/contracts`.


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event and where it happened, ready to be accepted."""

    event: Event
    origin: Origin


@dataclass(frozen=True, slots=True)
class Accepted:
    """What one transaction took in."""

    fresh: int = 0
    duplicate: int = 0
    session_ids: tuple[int, ...] = ()  # the database ids, one for each arrival, in its order


class Inbox(Protocol):
    """Takes events in, once each."""

    def accept(self, arrivals: Sequence[Arrival]) -> Accepted:
        """Commit all of them in one transaction: sessions, prompts and queue. Durable on return."""
        ...


class Queue(Protocol):
    """Hands queued events out, in order within a session, sessions side by side."""

    def lease(self, limit: int) -> Lease | None:
        """The next session's run of ready jobs, from its oldest; None when nothing is due."""
        ...

    def settle(self, lease: Lease, memory: Memory) -> None:
        """Keep what was learned and mark the jobs done, in one transaction."""
        ...

    def postpone(self, lease: Lease, until: int, reason: str, *, failed: bool) -> None:
        """Make the jobs ready again, not before `until`; a failed attempt counts, a wait does not."""
        ...

    def park(self, lease: Lease, reason: str) -> None: ...

    def reclaim(self) -> int:
        """Take back every lease: the one holder has just started, so all of them are dead."""
        ...

    def resume(self, job_ids: Sequence[int] | None = None) -> int:
        """Make parked jobs ready again; when none are named, all of them, and those that wait for a better
        moment."""
        ...


class Sessions(Protocol):
    """Answers about sessions."""

    def find(self, session: int | str) -> Session | None:
        """By the database's id (int) or the client's own (str)."""
        ...

    def fail(self, session_id: int) -> None:
        """An abort was asked for: mark it failed; its queued events stay."""
        ...

    def interrupt_silent(self, before: int) -> int:
        """Mark open sessions without activity since `before` as interrupted."""
        ...

    def count_open(self) -> int: ...


class Overview(Protocol):
    """Answers about the whole."""

    def figures(self) -> QueueFigures: ...

    def jobs(self, state: JobState, limit: int, after: int = 0) -> list[tuple[Job, str | None]]:
        """Jobs in a state with the reason they are there, by id."""
        ...

    def counters(self) -> dict[str, int]:
        """What was counted over the store's life: accepted, duplicate, set_aside, …"""
        ...

    def count(self, name: str, by: int = 1) -> None: ...

    def last_event_at(self) -> int | None: ...


# What the pump, and those who watch over it, ask of the store.


class Work(Protocol):
    """Queued events on their way to become memory. No lease is ever of a failed session."""

    def gathered(self) -> Sequence[Gathered]:
        """What waits in each session that nobody holds: those that are due by the time of their oldest job,
        then those that must wait, the soonest first. Of many sessions the first few dozen."""
        ...

    def lease(self, limit: int, session_id: int | None = None) -> Lease | None:
        """The run of ready jobs, of the next session or of this one, up to the end of a turn."""
        ...

    def batch(self, lease: Lease) -> Batch:
        """The leased events with what has to be known around them."""
        ...

    def settle(
        self, lease: Lease, memory: Memory, spend: Spend | None = None, *, provider: str | None = None
    ) -> None:
        """Keep what was learned (by `provider`) and what it cost, and mark the jobs done, in one transaction.
        What the project remembers already is not stored twice."""
        ...

    def postpone(
        self, lease: Lease, until: int, reason: str, *, failed: bool, spend: Spend | None = None
    ) -> None: ...

    def park(self, lease: Lease, reason: str, spend: Spend | None = None) -> None: ...


class Parked(Protocol):
    """What a person does about work that was given up."""

    def resume(self, job_ids: Sequence[int] | None = None) -> int:
        """Make parked jobs ready again (all, when none are named)."""
        ...

    def drop(self, job_ids: Sequence[int]) -> int:
        """Parked jobs are done with, unobserved; they stay as evidence. Returns how many were parked."""
        ...


@dataclass(frozen=True, slots=True)
class Spending:
    """One day's calls of one model for one project."""

    day: str  # 2026-01-31, UTC
    project: str
    provider: str
    model: str
    calls: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    cost_usd: float | None  # None: not known of any of them


class Ledger(Protocol):
    """What observing costs."""

    def spent(self, session_id: int, now: int) -> Spent:
        """By this session in its life, and by all since midnight UTC."""
        ...

    def spending(self, since: int) -> list[Spending]: ...


# What goes out of the store as records and comes in as such, losing nothing (`model.portable`).


@dataclass(frozen=True, slots=True)
class ExportSelection:
    """What is to go out: all of it must hold. Empty: everything."""

    project_id: int | None = None
    session: str | None = None
    since: int | None = None  # epoch milliseconds
    until: int | None = None
    refs: tuple[Ref, ...] = ()  # these memories, with their sessions; evidence is left out then
    evidence: bool = True  # with what was done, not only what was understood of it


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What became of records that came in."""

    taken: dict[str, int] = field(default_factory=dict)  # by kind
    known: dict[str, int] = field(default_factory=dict)  # were there already: by id, or by content
    refused: tuple[tuple[int, str], ...] = ()  # the record's number, and why, as a sentence


class Portable(Protocol):
    def records(self, chosen: ExportSelection) -> Iterator[Record]:
        """The head, then all that was chosen, each after what it refers to; the same database twice gives the
        same records. Reads a snapshot; memory does not grow with what there is."""
        ...

    def absorb(self, records: Sequence[Record], *, own: bool) -> ImportReport:
        """Merge records in, in one transaction; durable on return. What is there already stays as it is. One
        that cannot be taken is refused, and the others are taken all the same. Not `own`: it may be a
        stranger's. Its sessions are marked as such (`model.portable.FOREIGN`) and every observation as
        external, nothing is pinned, no place on this machine is believed, and nothing is added to a session
        of one's own, nor put in the place of a memory of one's own."""
        ...


# What is asked of the store so that the house is kept: projects, and the room all of it takes.


@dataclass(frozen=True, slots=True)
class ProjectSummary:
    """A project, as somebody sees it who tidies up."""

    id: int
    key: str
    name: str
    root: str
    remote: str | None = None
    named: bool = False  # somebody gave it its name
    sessions: int = 0
    observations: int = 0
    last_at: int | None = None  # epoch milliseconds
    last_commit: str | None = None  # on which its last session stood
    characters: int = 0  # what was said and done in it
    merged: tuple[str, ...] = ()  # the keys of those that were merged into it


@dataclass(frozen=True, slots=True)
class DatabaseSize:
    """What the database takes, in bytes."""

    size: int  # the file
    free: int  # in it, unused
    log: int  # beside it
    shrinks: bool  # what is unused can be given back in small steps


class Projects(Protocol):
    """Every change is durable on return; any thread may call it. Raises StoreError."""

    def all(self, *, weighed: bool = True) -> list[ProjectSummary]:
        """The one last worked in first. `weighed`: with how much each has, for which all is read."""
        ...

    def rename(self, project_id: int, name: str, *, by_hand: bool = True) -> None:
        """All that is kept of it goes by the new name."""
        ...

    def merge(self, gone: int, into: int) -> int:
        """All of one becomes the other's, in the indexes as well, and so does what comes in under its keys
        from now on. How many sessions that were. Killed on the way, it is finished by `finish_merging`."""
        ...

    def finish_merging(self) -> int: ...

    def place(self, project_id: int, root: str) -> None:
        """Its directory lies elsewhere now."""
        ...


# What recall reads and changes in the store. Every backend passes the contract suite in
# `tests/contracts`.


@dataclass(frozen=True, slots=True)
class TextQuery:
    """A query as expressions of the full-text index, any of which may match."""

    words: tuple[str, ...]
    phrases: tuple[str, ...] = ()  # what belongs together: a quotation, a path, an identifier
    most_rows: int = 5_000
    """How many matches may be weighed. The rarest words come first; those past it are left out."""


@dataclass(frozen=True, slots=True)
class TextMatch:
    """What one expression found: by spot, its BM25 (larger is better)."""

    expression: str
    scores: dict[int, float]
    is_phrase: bool = False
    rows: int | None = None
    """In how many memories it is, where `scores` has only those of them that pass a filter."""


@dataclass(frozen=True, slots=True)
class TextMatches:
    total: int  # memories in the span: how rare a word is depends on it
    matched: tuple[TextMatch, ...] = ()


@dataclass(frozen=True, slots=True)
class FileMemory:
    """A memory of a file."""

    card: Card
    how: str  # modified, read or (only) named


@dataclass(frozen=True, slots=True)
class Project:
    id: int
    key: str
    name: str
    root: str
    sessions: int = 0
    observations: int = 0
    last_at: int | None = None  # epoch milliseconds


@dataclass(frozen=True, slots=True)
class ListPosition:
    """Where a list goes on: after this memory."""

    at: int  # epoch milliseconds
    ref: Ref


class Passing(Protocol):
    """Which memories pass some filters. Of one search, and of its thread."""

    @property
    def few(self) -> Collection[int] | None:
        """The spots of all that pass, but for evidence; None: they are too many to be listed."""
        ...

    def __call__(self, spots: Iterable[int]) -> set[int]:
        """Those of these that pass."""
        ...


class Library(Protocol):
    """Reads memories. Each call sees one state of the store; any thread may call it."""

    def passing(self, filters: Filters) -> Passing | None:
        """None: nothing is asked but the project, and what is marked wrong is too little to be in the way."""
        ...

    def match(
        self, wording: TextQuery, within: tuple[int, int] | None, passing: Passing | None = None
    ) -> TextMatches:
        """What each expression matches in a span (or in all). Expressions that are too frequent to be weighed
        are looked for among those that pass."""
        ...

    def cards(self, refs: Sequence[Ref]) -> list[Card]:
        """Those that exist, in no order."""
        ...

    def whole(self, refs: Sequence[Ref]) -> dict[Ref, tuple[Card, dict[str, Any]]]:
        """With all the columns they have."""
        ...

    def listed(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: ListPosition | None = None,
    ) -> list[Card]:
        """By time, without a query; at one moment what was asked comes before what was done, and that before
        what was understood of it. By file as far as the index is."""
        ...

    def refs(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: ListPosition | None = None,
    ) -> list[Ref]:
        """The same list, without reading what the memories say."""
        ...

    def count(self, filters: Filters) -> int:
        """How many such a list has in all."""
        ...

    def last_ids(self) -> dict[MemoryKind, int]:
        """The highest id of each kind; 0: there is none. Also of what says nothing, as a private prompt."""
        ...

    def touched(self, path: str, filters: Filters, limit: int) -> list[tuple[int, str]]:
        """The spots of a file's memories, the newest first, and how each is about it (see `Touching`): one
        path is the other's, or the end of it."""
        ...

    def touching(self, path: str, filters: Filters, limit: int) -> list[FileMemory]:
        """The same, with their cards."""
        ...

    def beside(
        self, folder: str, project_id: int | None, passing: Passing | None = None, *, limit: int = 2_000
    ) -> list[tuple[int, str]]:
        """Spots of the memories of files in a folder and below it, and the files' paths."""
        ...

    def counted(self, session: str) -> dict[MemoryKind, int]:
        """How much of each kind a session (the client's own id) has."""
        ...

    def project(self, given: str) -> Project | None:
        """By its key, else by its name; of several with one name, the one last worked in."""
        ...

    def project_by_id(self, id: int) -> Project | None: ...

    def projects(self, limit: int, offset: int = 0) -> list[Project]:
        """With their figures, the one last worked in first."""
        ...


class Shelves(Protocol):
    """Reads sessions and projects as wholes; rows by the store's column names."""

    def sessions(
        self, filters: Filters, *, limit: int, offset: int = 0, after: tuple[int, int] | None = None
    ) -> list[dict[str, Any]]:
        """The one in which something last happened first. `after`: that time and the database's id, of the
        last one of the page before."""
        ...

    def count_sessions(self, filters: Filters) -> int: ...

    def session(self, given: str) -> dict[str, Any] | None:
        """By the client's id or the beginning of it, or by the database's; `before` and `after` are its
        neighbours in the project, or None."""
        ...

    def last_summaries(self, project_id: int, but_for: str, limit: int) -> list[int]:
        """The ids of the newest summaries, one a session (that of something done, learned or left open, if
        there is one), but for one session's."""
        ...

    def compacted_at(self, session: str) -> int:
        """When a session (the client's own id) was last compacted; 0: never."""
        ...

    def figures(self, project_id: int) -> tuple[int, int]:
        """How many sessions and observations."""
        ...

    def directories(self, project_id: int, limit: int) -> list[str]:
        """Where its last sessions worked."""
        ...


# What recall changes in the store: what a person has kept, pinned or forgotten, what sessions were told.


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to be forgotten: all of it must hold. Empty: nothing."""

    refs: tuple[Ref, ...] = ()
    session: str | None = None  # the client's own id: the session with all that is in it
    project_id: int | None = None
    file: str | None = None  # memories of this file (as `model.pathing.is_of_file` reads it)
    since: int | None = None  # epoch milliseconds
    until: int | None = None
    text: str | None = None  # memories that hold these words, to the letter (any case)


@dataclass(frozen=True, slots=True)
class ForgetPlan:
    """What a selection comes to."""

    refs: tuple[Ref, ...] = ()
    sessions: tuple[str, ...] = ()  # that go as a whole


@dataclass(frozen=True, slots=True)
class Forgotten:
    sessions: int = 0
    observations: int = 0
    summaries: int = 0
    prompts: int = 0
    evidence: int = 0
    vectors: int = 0


@dataclass(frozen=True, slots=True)
class MemoryIdentity:
    """By what a memory is known in a copy of the store, where its number may be another's."""

    ref: Ref
    session: str
    at: int  # epoch milliseconds


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """What is to be forgotten wherever it lies: as it was selected, and what that came to here."""

    selection: Selection
    project_key: str | None = None  # of the selected project, whose number may be another's elsewhere
    project_root: str | None = None
    sessions: tuple[str, ...] = ()
    traces: tuple[MemoryIdentity, ...] = ()


@dataclass(frozen=True, slots=True)
class CopyReport:
    """Something that holds what is to be forgotten, or may."""

    path: str
    kind: str  # backup, aside, export, spool
    done: str  # holds, rewritten, removed, left
    note: str = ""  # why it was left or removed, in a clause

    @property
    def stays(self) -> bool:
        return self.done in ("holds", "left")


class Elsewhere(Protocol):
    """Where memories lie outside the store: its backups, exports, files that could not be read."""

    def look(self, wanted: ForgetRequest) -> list[CopyReport]:
        """What holds it; changes nothing."""
        ...

    def forget(self, wanted: ForgetRequest, *, exports: bool) -> list[CopyReport]:
        """As much as can be. `exports`: also in files that an export has made somewhere."""
        ...


@dataclass(frozen=True, slots=True)
class Injection:
    session: str
    event: str
    refs: tuple[str, ...]
    tokens: int
    at: int
    about: str | None = None


class Keeping(Protocol):
    """Every method is durable on return; any thread may call it."""

    def remember(
        self,
        observation: Observation,
        origin: Origin,
        *,
        session: str,
        at: int,
        source: Source = "user",
        client: str = "user",
        provider: str | None = None,
    ) -> tuple[Ref, bool]:
        """Keep it in the origin's project, under this session (made if it is new). Returns it, and
        whether it is new: what the project knows already is not stored twice."""
        ...

    def pin(self, ref: Ref, *, pinned: bool) -> bool:
        """Only observations can be pinned; False when there is no such one."""
        ...

    def doomed(self, selection: Selection) -> ForgetPlan:
        """What would go."""
        ...

    def traces(self, refs: Sequence[Ref]) -> list[MemoryIdentity]: ...

    def forget(self, doomed: ForgetPlan) -> Forgotten:
        """Really gone: rows, what is derived from them, their words in the full-text index, their bytes in
        the file and in its log."""
        ...

    def note_injection(self, injection: Injection) -> None: ...

    def injections(
        self, *, session: str | None = None, ref: Ref | None = None, limit: int = 1000
    ) -> Sequence[Injection]:
        """What was told, the newest first: to a session, or of a memory."""
        ...

    def note_rendering(self, stamp: str, refs: Sequence[str], tokens: int, at: int) -> None:
        """What a file in `context/` holds. Of old ones the last few hundred are kept."""
        ...

    def rendering(self, stamp: str) -> tuple[tuple[str, ...], int] | None:
        """The refs and the tokens."""
        ...

    def expire_evidence(self, before: int, limit: int = 500) -> int:
        """Empty settled events of sessions from before this time of their words; how many. 0: none is
        left."""
        ...


# What a person corrects: what the store is asked to change, and what the faces ask for. Each answer can be
# taken back for a while.


FieldValue = str | int | tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Revision:
    """An observation's fields as they are to be, or as they were: type, title, subtitle, narrative, facts,
    concepts, pinned, wrong, superseded_by, edited_at_epoch. Those not named stay."""

    id: int
    values: Mapping[str, FieldValue]


class ChangedMeanwhile(Exception):
    """Somebody else has changed it since; `str()` is one sentence."""


class Revising(Protocol):
    def revise(self, revisions: Sequence[Revision], expected: Sequence[Revision] = ()) -> list[Revision]:
        """Change them all, or (raising ChangedMeanwhile, if what is expected is not so any more) none; found
        by their new words at once, durable on return. Returns how they were; those not there are left out."""
        ...


# What taking in the past asks of the store.


@dataclass(frozen=True, slots=True)
class KnownSession:
    """A session that is there already, or must not be."""

    state: Literal["live", "past", "forgotten", "unseen"]
    """live: captured as it happened, or brought along from elsewhere; forgotten: as a whole, by the user;
    unseen: it ran while memory was paused. Only the past may be added to."""
    events: int
    seal: str | None = None  # which state of its transcript was taken in whole


@dataclass(frozen=True, slots=True)
class BackfillOptions:
    """How sessions of the past are to be treated."""

    offline: bool = True  # no model is asked
    hold_until: int = 0  # epoch milliseconds: more of them is on its way
    seals: Mapping[str, str] | None = None  # of sessions that are whole now


@dataclass(frozen=True, slots=True)
class BackfillAccepted:
    fresh: int = 0
    duplicate: int = 0
    live: int = 0  # of sessions that were captured as they happened, or forgotten: left alone


@dataclass(frozen=True, slots=True)
class BackfillProgress:
    waiting: int  # events still to be observed
    tokens: int  # that sessions of the past have cost since some time
    usd: float


class Past(Protocol):
    def accept_past(self, arrivals: Sequence[Arrival], manner: BackfillOptions) -> BackfillAccepted:
        """Commit all of them in one transaction. Durable on return."""
        ...

    def release(self, sessions: Sequence[str]) -> None:
        """No more of them is on its way."""
        ...

    def known(self, sessions: Sequence[str]) -> dict[str, KnownSession]: ...

    def progress(self, since: int) -> BackfillProgress: ...


# What the viewer's pages ask beside the desk's questions, and what the store is asked for them.


@dataclass(frozen=True, slots=True)
class ChangedFile:
    path: str
    changes: int
    last: Ref  # the newest memory that says so


@dataclass(frozen=True, slots=True)
class InjectionCount:
    """What sessions were told on one day of UTC, on one occasion."""

    day: str
    event: str
    times: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Facets:
    projects: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()


class Ledgers(Protocol):
    """Reads figures. Any thread may call it; any call may block. Raises StoreError."""

    def activity(self, project_id: int, since: int) -> dict[str, dict[str, int]]:
        """By day (where the user is): how many observations, prompts, summaries."""
        ...

    def types(self, project_id: int) -> dict[str, int]: ...

    def changed_files(self, project_id: int, limit: int) -> list[ChangedFile]: ...

    def facets(self, project_id: int | None) -> Facets: ...

    def tool_uses(self, session_db_id: int, tool_use_ids: Sequence[str]) -> list[Ref]: ...

    def superseded(self, id: int) -> list[Ref]:
        """What an observation stands in the place of."""
        ...

    def prompt(self, session_db_id: int, number: int) -> Ref | None: ...

    def times_injected(self, ref: Ref) -> int: ...

    def injected(self, since: int, project: str | None) -> list[InjectionCount]: ...

    def uses_asked_about(self, since: int, project: str | None) -> int: ...
