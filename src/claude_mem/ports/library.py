"""What recall reads and changes in the store. Every backend passes the contract suite in
`tests/contracts`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from claude_mem.model.refs import Card, Filters, MemoryKind, Ref


@dataclass(frozen=True, slots=True)
class Wording:
    """A query as expressions of the full-text index, any of which may match."""

    words: tuple[str, ...]
    phrases: tuple[str, ...] = ()  # what belongs together: a quotation, a path, an identifier
    most_rows: int = 5_000
    """How many matches may be weighed. The rarest words come first; those past it are left out."""


@dataclass(frozen=True, slots=True)
class Matched:
    """What one expression found: by spot, its BM25 (larger is better)."""

    expression: str
    scores: dict[int, float]
    is_phrase: bool = False
    rows: int | None = None
    """In how many memories it is, where `scores` has only those of them that pass a filter."""


@dataclass(frozen=True, slots=True)
class Matches:
    total: int  # memories in the span: how rare a word is depends on it
    matched: tuple[Matched, ...] = ()


@dataclass(frozen=True, slots=True)
class Touching:
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
class Place:
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
        self, wording: Wording, within: tuple[int, int] | None, passing: Passing | None = None
    ) -> Matches:
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
        after: Place | None = None,
    ) -> list[Card]:
        """By time, without a query; at one moment what was asked comes before what was done, and that before
        what was understood of it. By file as far as the index is."""
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

    def touching(self, path: str, filters: Filters, limit: int) -> list[Touching]:
        """The same, with their cards."""
        ...

    def beside(
        self, folder: str, project_id: int | None, passing: Passing | None = None
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
