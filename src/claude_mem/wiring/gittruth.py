"""Asks each project's repository what it says against a memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache

from claude_mem.model.origin import Origin
from claude_mem.model.recall import Card
from claude_mem.recall import truth
from claude_mem.recall.git import Repository
from claude_mem.store.sqlite.library import SqliteLibrary

HOLDS_S = 0.2
"""Whether anything has changed is looked up on the disk, and a search asks of 150 cards."""


class GitTruth:
    def __init__(self, library: SqliteLibrary, origin_of: Callable[[str], Origin]) -> None:
        self._library, self._origin_of = library, origin_of
        self._repositories: dict[str, Repository] = {}
        self._looks: dict[str, tuple[float, truth.RepoFacts | None, str | None]] = {}
        self._root_of = lru_cache(maxsize=1024)(self._find_root)

    def __call__(self, card: Card) -> tuple[tuple[str, ...], float]:
        """What to know before trusting it, and the factor that goes with it."""
        root = self._root_of(card.project_id)
        if not root or card.ref.kind not in ("observation", "summary"):
            return (), 1.0
        marks = truth.marks(card, *self._looked_at(root))
        return marks, truth.penalty(marks)

    def facts(self, root: str) -> truth.RepoFacts | None:
        return self._repositories.setdefault(root, Repository(root)).facts()

    def look_again(self) -> None:
        """A project's directory was moved."""
        self._root_of.cache_clear()

    def _looked_at(self, root: str) -> tuple[truth.RepoFacts | None, str | None]:
        """The facts and the branch, one look for all the cards of a search."""
        now = time.monotonic()
        at, facts, branch = self._looks.get(root, (-HOLDS_S, None, None))
        if now - at >= HOLDS_S:
            facts, branch = self.facts(root), self._origin_of(root).branch
            self._looks[root] = now, facts, branch
        return facts, branch

    def _find_root(self, project_id: int) -> str:
        project = self._library.project_by_id(project_id)
        return project.root if project else ""
