"""What the viewer's pages ask beside the desk's questions, and what the store is asked for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from claude_mem.api.filters import Page, SearchFilters
from claude_mem.model.refs import MemoryKind, Ref
from claude_mem.ports.desk import Data


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


class Viewing(Protocol):
    """Any thread may call it; any call may block. Raises BadQuestion, NotThere, StoreError."""

    def provenance(self, ref: str) -> Data:
        """Where a memory comes from, what it replaced and what replaced it, who was told of it."""
        ...

    def events(self, session: str, kinds: Sequence[MemoryKind], page: Page) -> Data:
        """All that happened in a session, in order."""
        ...

    def project(self, narrowing: SearchFilters, *, days: int) -> Data: ...

    def facets(self, narrowing: SearchFilters) -> Data:
        """What filters can be set to."""
        ...

    def cost(self, project: str, *, days: int) -> Data: ...

    def preview(self, narrowing: SearchFilters, prompt: str, sizes: Mapping[str, int]) -> Data:
        """What the next session start and, if it is given, a prompt would be told; with these sizes where
        they are said. Nothing is noted."""
        ...

    def select(self, query: str, narrowing: SearchFilters, *, cursor: str = "") -> Data:
        """{"ids", "more", "next"}: what a search or a list comes to, for something to be done with all of it.
        Of a list there is a `next` to go on from; of a search only its best."""
        ...
