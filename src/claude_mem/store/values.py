"""The values that the store takes and returns, whatever database it uses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct, field

from claude_mem.api.projects import CostRow
from claude_mem.model.events import Event, Origin
from claude_mem.model.jobs import QueueFigures
from claude_mem.model.refs import Card, MemoryKind, Ref


class NewEvent(Struct, frozen=True):
    """An event and where it happened, ready to be accepted."""

    event: Event
    origin: Origin
    title: str | None = None  # of a prompt: what a session that has none may be called


class Accepted(Struct, frozen=True):
    """What one transaction accepted."""

    fresh: int = 0
    duplicate: int = 0
    session_ids: tuple[int, ...] = ()  # the database ids, one for each event, in its order


class ExportSelection(Struct, frozen=True):
    """What to export: all conditions must hold. Empty: everything."""

    project_id: int | None = None
    session: str | None = None
    since: int | None = None  # epoch milliseconds
    until: int | None = None
    refs: tuple[Ref, ...] = ()  # these memories, with their sessions; evidence is left out then
    evidence: bool = True  # with what was done, not only what was understood of it


class ImportResult(Struct, frozen=True):
    """The outcome of an import."""

    taken: dict[str, int] = field(default_factory=dict)  # by kind
    known: dict[str, int] = field(default_factory=dict)  # already there, by id or by content
    refused: tuple[tuple[int, str], ...] = ()  # the record's number, and why, as a sentence


class Project(Struct, frozen=True):
    id: int
    key: str
    name: str
    root: str
    sessions: int = 0
    observations: int = 0
    last_at: int | None = None  # epoch milliseconds


class ProjectDetails(Project, frozen=True):
    """A project, as its owner manages it."""

    remote: str | None = None
    named: bool = False  # somebody gave it its name
    last_commit: str | None = None  # on which its last session stood
    characters: int = 0  # what was said and done in it
    merged: tuple[str, ...] = ()  # the keys of those that were merged into it


class DatabaseSize(Struct, frozen=True):
    """The size of the database in bytes."""

    size: int  # the file
    free: int  # in it, unused
    log: int  # beside it
    shrinks: bool  # what is unused can be given back in small steps


class TextQuery(Struct, frozen=True):
    """A query's words, any of which may match; each holds letters and digits alone."""

    words: tuple[str, ...]
    phrases: tuple[str, ...] = ()  # words that belong together: a quotation, a path, an identifier
    most_rows: int = 5_000
    """How many matches may be scored. The rarest words come first; words beyond the limit are left out."""
    is_hurried: bool = False
    """A caller is waiting: slightly outdated counts are sufficient."""


class TextMatch(Struct, frozen=True):
    """What one word (`auth*`: the beginning of words) or phrase found: by key, its BM25, larger is better."""

    word: str
    scores: dict[int, float]
    prose: dict[int, float] = field(default_factory=dict)
    """The same without tool input and output."""
    is_phrase: bool = False
    rows: int | None = None
    """How many memories contain it, if `scores` only has those that pass a filter."""


class IndexSizes(Struct, frozen=True):
    """How many memories a part of the index has: how rare a word is depends on it."""

    total: int
    prose: int  # of these, what is not a tool's
    sessions: Mapping[int, int]  # the same of each, at least 1, by the session's database id


class TextMatches(Struct, frozen=True):
    sizes: IndexSizes
    matched: tuple[TextMatch, ...] = ()


class FileMemory(Struct, frozen=True):
    """A memory of a file."""

    card: Card
    how: str  # modified, read or (only) named


class ListPosition(Struct, frozen=True):
    """The position in a list after this memory."""

    at: int  # epoch milliseconds
    ref: Ref


class Selection(Struct, frozen=True):
    """What to delete: all conditions must hold. Empty: nothing."""

    refs: tuple[Ref, ...] = ()
    session: str | None = None  # the client's own id: the session with all that is in it
    project_id: int | None = None
    file: str | None = None  # memories of this file (as `model.refs.is_of_file` reads it)
    since: int | None = None  # epoch milliseconds
    until: int | None = None
    text: str | None = None  # memories that hold these words, to the letter (any case)

    @property
    def is_whole(self) -> bool:
        """Sessions with all that is in them."""
        is_timed = self.since is not None or self.until is not None
        return not is_timed and not self.refs and not self.file and not self.text


class ForgetPlan(Struct, frozen=True):
    """The memories that a selection matches."""

    refs: tuple[Ref, ...] = ()
    sessions: tuple[str, ...] = ()  # that are deleted completely


class Forgotten(Struct, frozen=True):
    sessions: int = 0
    observations: int = 0
    summaries: int = 0
    prompts: int = 0
    evidence: int = 0
    vectors: int = 0


class MemoryIdentity(Struct, frozen=True):
    """What identifies a memory in a copy of the store, where its id may belong to another."""

    ref: Ref
    session: str
    at: int  # epoch milliseconds


class DeletionRequest(Struct, frozen=True):
    """What to delete in copies: the selection, and what it matched in the store."""

    selection: Selection
    project_key: str | None = None  # of the selected project, whose number may be another's elsewhere
    project_root: str | None = None
    sessions: tuple[str, ...] = ()
    traces: tuple[MemoryIdentity, ...] = ()


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
    """It was changed in the meantime; `str()` is one sentence."""


class BackfillOptions(Struct, frozen=True):
    """How imported past sessions are treated."""

    offline: bool = True  # no model is called
    hold_until: int = 0  # epoch milliseconds: more of them is on its way
    seals: Mapping[str, str] | None = None  # of sessions that are now complete


class BackfillAccepted(Struct, frozen=True):
    fresh: int = 0
    duplicate: int = 0
    live: int = 0  # of sessions that were captured as they happened, or forgotten: left alone


class ChangedFile(Struct, frozen=True):
    path: str
    changes: int
    last_at: int  # epoch milliseconds: when the newest observation that says so was made


class SpentToday(Struct, frozen=True):
    """What all sessions have cost since midnight UTC, as the budget counts it."""

    tokens: int = 0
    usd: float = 0.0  # as far as it is known


class InjectionTotals(Struct, frozen=True):
    """What was injected at one hook event."""

    times: int
    tokens: int


class UsageCounts(Struct, frozen=True):
    sessions: int = 0
    prompts: int = 0
    events: int = 0
    by_type: dict[str, int] = field(default_factory=dict)  # observations, the most frequent first
    by_provider: dict[str, int] = field(default_factory=dict)
    seen_again: int = 0  # and so not stored twice
    summaries: int = 0
    injected: dict[str, InjectionTotals] = field(default_factory=dict)  # by the hook's event
    queue: QueueFigures = field(default_factory=QueueFigures)
    spending: list[CostRow] = field(default_factory=list)
    today: SpentToday = field(default_factory=SpentToday)


class Survey(Struct, frozen=True):
    """What an inspection of a database found, without creating, migrating or changing anything."""

    path: Path
    exists: bool = False
    bytes: int = 0
    schema: int | None = None
    known_schema: int = 0
    problem: str | None = None  # damaged, foreign, too new or unreadable, as a sentence
    checked: bool = False  # read through, not only looked at
    figures: QueueFigures | None = None
    last_event_at: int | None = None
    last_observation_at: int | None = None
    spent_today: SpentToday | None = None
    unindexed: int | None = None  # rows that full text does not find yet
    unembedded: int | None = None  # memories without a vector
    room: DatabaseSize | None = None
    grows: float | None = None  # bytes a day, by the size of its backups; None: not known yet
    backups: int = 0
    newest_backup_at: int | None = None
    on_server: bool = False  # a database server's: `path` is its name, and backups are made there


class NewsMarks(Struct, frozen=True):
    observation: int
    summary: int
    event: int
    session: int


class News(Struct, frozen=True):
    marks: NewsMarks
    projects: tuple[int, ...] = ()
    compacted: tuple[tuple[int, str], ...] = ()  # project, session
    changed: tuple[int, ...] = ()  # projects of which something was changed or forgotten


class Evidence(Struct, frozen=True):
    """The raw input and output of a tool call."""

    events: int = 0
    characters: int = 0

    def __add__(self, other: Evidence) -> Evidence:
        return Evidence(self.events + other.events, self.characters + other.characters)


class Restored(Struct, frozen=True):
    restored_from: Path
    moved_aside: Path | None  # the directory the former database is in; None: there was none


class Recovered(Struct, frozen=True):
    """How a damaged database was repaired, for the user."""

    quarantined: Path | None  # the directory the damaged files are in
    restored_from: Path | None  # None: there was no complete backup, so a new database was created
    detail: str  # what was wrong


class Unembedded(Struct, frozen=True):
    texts: list[tuple[int, str]]  # keys, and what to embed
    marks: Mapping[MemoryKind, int]  # how far it is when they are done
    settled: Mapping[str, str] = field(default_factory=dict)  # notes that are settled then
