"""What the viewer's pages ask beside the desk's questions, and what the store is asked for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from claude_mem.api.filters import Page, SearchFilters
from claude_mem.model.refs import MemoryKind
from claude_mem.ports.desk import Data


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
