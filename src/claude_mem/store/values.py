"""What the store's callers hand in and get back, whatever database is behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from claude_mem.model.events import Event, Origin
from claude_mem.model.refs import Card, Ref


class Arrival(Struct, frozen=True):
    """An event and where it happened, ready to be accepted."""

    event: Event
    origin: Origin


class Accepted(Struct, frozen=True):
    """What one transaction took in."""

    fresh: int = 0
    duplicate: int = 0
    session_ids: tuple[int, ...] = ()  # the database ids, one for each arrival, in its order


class Spending(Struct, frozen=True):
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


class ExportSelection(Struct, frozen=True):
    """What is to go out: all of it must hold. Empty: everything."""

    project_id: int | None = None
    session: str | None = None
    since: int | None = None  # epoch milliseconds
    until: int | None = None
    refs: tuple[Ref, ...] = ()  # these memories, with their sessions; evidence is left out then
    evidence: bool = True  # with what was done, not only what was understood of it


class ImportReport(Struct, frozen=True):
    """What became of records that came in."""

    taken: dict[str, int] = field(default_factory=dict)  # by kind
    known: dict[str, int] = field(default_factory=dict)  # were there already: by id, or by content
    refused: tuple[tuple[int, str], ...] = ()  # the record's number, and why, as a sentence


class Project(Struct, frozen=True):
    id: int
    key: str
    name: str
    root: str
    sessions: int = 0
    observations: int = 0
    last_at: int | None = None  # epoch milliseconds


class ProjectSummary(Project, frozen=True):
    """A project, as somebody sees it who tidies up."""

    remote: str | None = None
    named: bool = False  # somebody gave it its name
    last_commit: str | None = None  # on which its last session stood
    characters: int = 0  # what was said and done in it
    merged: tuple[str, ...] = ()  # the keys of those that were merged into it


class DatabaseSize(Struct, frozen=True):
    """What the database takes, in bytes."""

    size: int  # the file
    free: int  # in it, unused
    log: int  # beside it
    shrinks: bool  # what is unused can be given back in small steps


class TextQuery(Struct, frozen=True):
    """A query as expressions of the full-text index, any of which may match."""

    words: tuple[str, ...]
    phrases: tuple[str, ...] = ()  # what belongs together: a quotation, a path, an identifier
    most_rows: int = 5_000
    """How many matches may be weighed. The rarest words come first; those past it are left out."""


class TextMatch(Struct, frozen=True):
    """What one expression found: by key, its BM25 (larger is better)."""

    expression: str
    scores: dict[int, float]
    is_phrase: bool = False
    rows: int | None = None
    """In how many memories it is, where `scores` has only those of them that pass a filter."""


class TextMatches(Struct, frozen=True):
    total: int  # memories in the span: how rare a word is depends on it
    matched: tuple[TextMatch, ...] = ()


class FileMemory(Struct, frozen=True):
    """A memory of a file."""

    card: Card
    how: str  # modified, read or (only) named


class ListPosition(Struct, frozen=True):
    """Where a list goes on: after this memory."""

    at: int  # epoch milliseconds
    ref: Ref


class Selection(Struct, frozen=True):
    """What is to be forgotten: all of it must hold. Empty: nothing."""

    refs: tuple[Ref, ...] = ()
    session: str | None = None  # the client's own id: the session with all that is in it
    project_id: int | None = None
    file: str | None = None  # memories of this file (as `model.refs.is_of_file` reads it)
    since: int | None = None  # epoch milliseconds
    until: int | None = None
    text: str | None = None  # memories that hold these words, to the letter (any case)


class ForgetPlan(Struct, frozen=True):
    """What a selection comes to."""

    refs: tuple[Ref, ...] = ()
    sessions: tuple[str, ...] = ()  # that go as a whole


class Forgotten(Struct, frozen=True):
    sessions: int = 0
    observations: int = 0
    summaries: int = 0
    prompts: int = 0
    evidence: int = 0
    vectors: int = 0


class MemoryIdentity(Struct, frozen=True):
    """By what a memory is known in a copy of the store, where its number may be another's."""

    ref: Ref
    session: str
    at: int  # epoch milliseconds


class ForgetRequest(Struct, frozen=True):
    """What is to be forgotten wherever it lies: as it was selected, and what that came to here."""

    selection: Selection
    project_key: str | None = None  # of the selected project, whose number may be another's elsewhere
    project_root: str | None = None
    sessions: tuple[str, ...] = ()
    traces: tuple[MemoryIdentity, ...] = ()


class CopyReport(Struct, frozen=True):
    """Something that holds what is to be forgotten, or may."""

    path: str
    kind: str  # backup, aside, export, spool
    done: str  # holds, rewritten, removed, left
    note: str = ""  # why it was left or removed, in a clause

    @property
    def stays(self) -> bool:
        return self.done in ("holds", "left")


class Injection(Struct, frozen=True):
    session: str
    event: str
    refs: tuple[str, ...]
    tokens: int
    at: int
    about: str | None = None


FieldValue = str | int | tuple[str, ...] | None


class Revision(Struct, frozen=True):
    """An observation's fields as they are to be, or as they were: type, title, subtitle, narrative, facts,
    concepts, pinned, wrong, superseded_by, edited_at_epoch. Those not named stay."""

    id: int
    values: Mapping[str, FieldValue]


class ChangedMeanwhile(Exception):
    """Somebody else has changed it since; `str()` is one sentence."""


class KnownSession(Struct, frozen=True):
    """A session that is there already, or must not be."""

    state: Literal["live", "past", "forgotten", "unseen"]
    """live: captured as it happened, or brought along from elsewhere; forgotten: as a whole, by the user;
    unseen: it ran while memory was paused. Only the past may be added to."""
    events: int
    seal: str | None = None  # which state of its transcript was taken in whole


class BackfillOptions(Struct, frozen=True):
    """How sessions of the past are to be treated."""

    offline: bool = True  # no model is asked
    hold_until: int = 0  # epoch milliseconds: more of them is on its way
    seals: Mapping[str, str] | None = None  # of sessions that are whole now


class BackfillAccepted(Struct, frozen=True):
    fresh: int = 0
    duplicate: int = 0
    live: int = 0  # of sessions that were captured as they happened, or forgotten: left alone


class BackfillProgress(Struct, frozen=True):
    waiting: int  # events still to be observed
    tokens: int  # that sessions of the past have cost since some time
    usd: float


class ChangedFile(Struct, frozen=True):
    path: str
    changes: int
    last: Ref  # the newest memory that says so


class InjectionCount(Struct, frozen=True):
    """What sessions were told on one day of UTC, on one occasion."""

    day: str
    event: str
    times: int
    tokens: int


class Facets(Struct, frozen=True):
    projects: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
