"""What recall reads and changes in the store. Every backend passes the contract suite in `claude_mem.testing`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from claude_mem.model.observation import Observation, Summary
from claude_mem.model.recall import Card, Filters, Ref, Source


@dataclass(frozen=True, slots=True)
class Wording:
    """A query as the full-text index takes it."""

    terms: tuple[str, ...]  # each one expression of the index: a word, a prefix, a phrase; any may match
    exact: tuple[str, ...] = ()  # those whose match lifts a memory: a phrase, a whole identifier
    most_rows: int = 25_000
    """How many matches may be weighed. The rarest terms come first; those past it are left out."""


@dataclass(frozen=True, slots=True)
class Match:
    spot: int
    score: float  # BM25, larger is better


@dataclass(frozen=True, slots=True)
class Project:
    id: int
    key: str
    name: str
    root: str
    sessions: int = 0
    observations: int = 0
    last_at: int | None = None  # epoch milliseconds


class Library(Protocol):
    """Reads memories. Each call sees one state of the store; any thread may call it."""

    def match(self, wording: Wording, within: tuple[int, int] | None, limit: int) -> list[Match]:
        """The best matches in a span (or in all), the best first."""
        ...

    def cards(self, refs: Sequence[Ref]) -> list[Card]:
        """Those that exist, in no order."""
        ...

    def listed(
        self, filters: Filters, *, limit: int, newest_first: bool = True, before: int | None = None
    ) -> list[Card]:
        """By time, without a query; `before`: only from before this time (after it, when oldest first)."""
        ...

    def touching(self, path: str, project_id: int | None, limit: int) -> list[Card]:
        """The memories of a file, the newest first: by its exact path, else by the end of it."""
        ...

    def project(self, key_or_name: str) -> Project | None: ...
