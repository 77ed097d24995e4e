"""What the faces (HTTP, MCP, the command line, hooks) ask of memory. Answers are plain data, ready for JSON:
every face sends on the same, so that they cannot disagree.

A *result*, in every answer that has some: id, ref, kind, session_id (the client's own), project, title, type,
created_at, created_at_epoch, files, branch, score, snippet, tokens, pinned, superseded_by, source, marks.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Protocol

from claude_mem.api.filters import Page, SearchFilters
from claude_mem.model.refs import MemoryKind

Data = dict[str, Any]

Changed = Callable[[Collection[int] | None], None]
"""Memory was changed, in these projects (None: in any): what is rendered of them is to be made anew."""


class BadQuestion(ValueError):
    """It cannot be answered as it was asked; `str()` is one sentence that says what to change."""

    def __init__(self, field: str, sentence: str) -> None:
        self.field = field
        super().__init__(sentence)


class NotThere(LookupError):
    """Nothing goes by that name; `str()` is one sentence."""


class Desk(Protocol):
    """Any thread may call it; any call may block. Raises BadQuestion, NotThere, StoreError."""

    def search(self, query: str, narrowing: SearchFilters, page: Page, *, explain: bool = False) -> Data:
        """{"query", "results", "offset", "limit", "hasMore", "legs": ["text", "vectors"], "note": str |
        None, "next"}. Without a query: the newest. `explain` adds to each result the parts of its score."""
        ...

    def timeline(
        self, anchor: str, narrowing: SearchFilters, *, before: int = 10, after: int = 10, query: str = ""
    ) -> Data:
        """{"anchor": result | None, "at", "before": results, "after": results}, each by time.
        The anchor is a ref, a session's id or a time in words; else the best hit of the query."""
        ...

    def details(self, refs: Sequence[str]) -> Data:
        """{"results": …, "missing": refs}: results with all their fields, in the order asked for. `injected`
        is None where it was not looked up: of more than 20, and in lists."""
        ...

    def session(self, id: str) -> Data:
        """{"session", "prompts", "observations", "summaries", "previous", "next"}: by the client's id (or the
        beginning of it) or the database's."""
        ...

    def file_history(self, path: str, narrowing: SearchFilters, *, limit: int = 20) -> Data:
        """{"path", "results"}: the newest first."""
        ...

    def listed(self, kind: str, narrowing: SearchFilters, page: Page) -> Data:
        """{"items", "offset", "limit", "hasMore", "next", "total"} of observations, summaries, prompts
        (results, with all their fields), sessions or projects, the newest first."""
        ...

    def last_ids(self) -> dict[MemoryKind, int]:
        """The highest id of each kind of memory; 0: there is none."""
        ...

    def remember(self, text: str, given: Mapping[str, object]) -> Data:
        """{"status": "saved", "id", "ref", "title"}. `given`: title, type, project, cwd, files, concepts,
        session."""
        ...

    def pin(self, ref: str, *, pinned: bool) -> Data:
        """{"ref", "pinned"}."""
        ...

    def forget(self, selection: Mapping[str, object], *, dry_run: bool, exports: bool = False) -> Data:
        """{"dry_run", "sessions", "observations", "summaries", "prompts", "evidence", "vectors", "sample":
        results, "backups": how many backups still hold it, "elsewhere": [{"path", "kind", "done", "note"}]}.
        `selection`, at least one: refs, session, project, file, since, until, text (all must hold).
        `exports`: also in files that an export has made."""
        ...

    def take_in(self, records: Sequence[Mapping[str, object]]) -> Data:
        """An import of observations: {"imported", "skipped", "errors": [{"index", "message"}]}."""
        ...

    def export(self, query: str, narrowing: SearchFilters) -> Iterator[Mapping[str, Any]]:
        """What is asked for, as records of `model.portable`, the head first. Without a query, a type, a
        concept, a file, a branch, a client or a kind: whole sessions, with all that was done in them."""
        ...

    def absorb(self, records: Sequence[Mapping[str, object]], *, own: bool) -> Data:
        """Merge such records in, all at once: {"taken": {kind: count}, "known": {kind: count}, "refused":
        [{"index", "message"}]}. Not `own`: a stranger's. One without a kind is as `take_in` has it."""
        ...

    def context(self, narrowing: SearchFilters, *, source: str = "startup", session: str = "") -> Data:
        """{"text", "tokens", "refs", "project"}: what the next session start is told; no fence, for
        people."""
        ...

    def stats(self) -> Data: ...
