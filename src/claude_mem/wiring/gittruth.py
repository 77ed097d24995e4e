"""What each project's repository says against a memory. Git is asked in the background: nobody who searches
waits for it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from threading import Lock

from claude_mem.model.events import Origin
from claude_mem.model.refs import Card
from claude_mem.ports.library import Library
from claude_mem.recall import truth
from claude_mem.recall.git import Repository

HOLDS_S = 0.2
"""Whether anything has changed is looked up on the disk, and a search asks of 150 cards."""
THREADS = 2

log = logging.getLogger("claude_mem")


class GitTruth:
    """Any thread may ask. `close` ends its own threads, and waits no longer than git is given."""

    def __init__(
        self,
        library: Library,
        origin_of: Callable[[str], Origin],
        repository: Callable[[str], Repository] = Repository,
    ) -> None:
        self._library, self._origin_of, self._repository = library, origin_of, repository
        self._repositories: dict[str, Repository] = {}
        self._facts: dict[str, truth.RepoFacts | None] = {}  # as git last answered
        self._looks: dict[str, tuple[float, str | None]] = {}
        self._root_of = lru_cache(maxsize=1024)(self._find_root)
        self._lock = Lock()
        self._refreshing: set[str] = set()
        self._closed = False
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="git")

    def __call__(self, card: Card) -> tuple[tuple[str, ...], float]:
        """What to know before trusting it, and the factor that goes with it; by what git last said."""
        root = self._root_of(card.project_id)
        if not root or card.ref.kind not in ("observation", "summary"):
            return (), 1.0
        branch = self._looked_at(root)
        marks = truth.marks(card, self._facts.get(root), branch)
        return marks, truth.penalty(marks)

    def facts(self, root: str) -> truth.RepoFacts | None:
        """As they are now. Waits for git: for work in the background, and for answers that depend on it."""
        found = self._repositories.setdefault(root, self._repository(root)).facts()
        self._facts[root] = found
        return found

    def look_again(self) -> None:
        """A project's directory was moved."""
        self._root_of.cache_clear()

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _looked_at(self, root: str) -> str | None:
        """The branch; one look for all the cards of a search, and one reason to ask git again."""
        now = time.monotonic()
        at, branch = self._looks.get(root, (-HOLDS_S, None))
        if now - at >= HOLDS_S:
            branch = self._origin_of(root).branch
            self._looks[root] = now, branch
            self._refresh(root)
        return branch

    def _refresh(self, root: str) -> None:
        """One at a time for each repository: who comes meanwhile has asked too early to be told more."""
        with self._lock:
            if not self._closed and root not in self._refreshing:
                self._refreshing.add(root)
                self._threads.submit(self._refreshed, root)

    def _refreshed(self, root: str) -> None:
        try:
            self.facts(root)
        except Exception:  # the next one who asks tries again
            log.exception("git could not be asked")
        finally:
            with self._lock:
                self._refreshing.discard(root)

    def _find_root(self, project_id: int) -> str:
        project = self._library.project_by_id(project_id)
        return project.root if project else ""
