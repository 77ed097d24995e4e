"""What a store is: one `Store` with a part for each concern, whatever database it uses. The parts that every
store has are in `relational/`; what each store does in its own way is declared here or abstract there.

Any thread may call a part. Any call may block, is one transaction, and raises StoreError. Changes are durable
on return.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from claude_mem.api.memories import CopyReport
from claude_mem.store.relational.events import Events
from claude_mem.store.relational.forget import Deletion
from claude_mem.store.relational.memories import Memories
from claude_mem.store.relational.memory_filters import KeyFilter
from claude_mem.store.relational.projects import Projects
from claude_mem.store.relational.queue import Queue
from claude_mem.store.relational.sessions import Injections, Sessions
from claude_mem.store.relational.statistics import Statistics
from claude_mem.store.relational.transfer import Transfer
from claude_mem.store.relational.upkeep import Upkeep
from claude_mem.store.relational.vector_table import EmbeddingProgress, VectorTable
from claude_mem.store.values import DeletionRequest, Recovered

__all__ = (
    "Copies",
    "Deletion",
    "EmbeddingProgress",
    "Events",
    "Injections",
    "KeyFilter",
    "Memories",
    "Projects",
    "Queue",
    "Sessions",
    "Statistics",
    "Store",
    "TextIndex",
    "Transfer",
    "Upkeep",
    "VectorTable",
)


class Copies(Protocol):
    """Backups of the store. The caller makes one call at a time."""

    def look(self, request: DeletionRequest) -> list[CopyReport]: ...
    def forget(self, request: DeletionRequest) -> list[CopyReport]: ...
    def clear_drafts(self) -> None: ...  # left behind by killed workers
    def surplus(self) -> list[Path]: ...  # copies beyond the retention, and unfinished ones


class TextIndex(Protocol):
    """One call at a time, from a loop of the worker or from a caller that has just added something."""

    def prepare(self) -> None: ...  # rebuild it if another version made it
    def step(self, *, hurried: bool = True) -> int:
        """Indexes some new rows; returns how many. 0: up to date. `hurried`: in a short transaction."""

    def tidy(self) -> bool:
        """A short step of what makes searches faster, when nothing else is to be done; False: nothing is
        left."""


class Store(ABC):
    recovered: Recovered | None
    """How a damaged database was repaired when it was opened; None: it was intact."""
    events: Events
    queue: Queue
    sessions: Sessions
    memories: Memories
    projects: Projects
    injections: Injections
    deletion: Deletion
    copies: Copies
    transfer: Transfer
    statistics: Statistics
    text_index: TextIndex
    vectors: VectorTable
    embeddings: EmbeddingProgress
    upkeep: Upkeep

    @abstractmethod
    def close(self) -> None: ...  # finish pending writes, then close the database

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
