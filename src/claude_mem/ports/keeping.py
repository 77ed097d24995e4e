"""What recall changes in the store: what a person has kept, pinned or forgotten, what sessions were told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from claude_mem.model.events import Origin
from claude_mem.model.memory import Observation
from claude_mem.model.refs import Ref, Source


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to be forgotten: all of it must hold. Empty: nothing."""

    refs: tuple[Ref, ...] = ()
    session: str | None = None  # the client's own id: the session with all that is in it
    project_id: int | None = None
    file: str | None = None  # memories of this file (as `model.pathing.is_of_file` reads it)
    since: int | None = None  # epoch milliseconds
    until: int | None = None
    text: str | None = None  # memories that hold these words, to the letter (any case)


@dataclass(frozen=True, slots=True)
class Doomed:
    """What a selection comes to."""

    refs: tuple[Ref, ...] = ()
    sessions: tuple[str, ...] = ()  # that go as a whole


@dataclass(frozen=True, slots=True)
class Forgotten:
    sessions: int = 0
    observations: int = 0
    summaries: int = 0
    prompts: int = 0
    evidence: int = 0
    vectors: int = 0


@dataclass(frozen=True, slots=True)
class Trace:
    """By what a memory is known in a copy of the store, where its number may be another's."""

    ref: Ref
    session: str
    at: int  # epoch milliseconds


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be forgotten wherever it lies: as it was selected, and what that came to here."""

    selection: Selection
    project_key: str | None = None  # of the selected project, whose number may be another's elsewhere
    project_root: str | None = None
    sessions: tuple[str, ...] = ()
    traces: tuple[Trace, ...] = ()


@dataclass(frozen=True, slots=True)
class Lying:
    """Something that holds what is to be forgotten, or may."""

    path: str
    kind: str  # backup, aside, export, spool
    done: str  # holds, rewritten, removed, left
    note: str = ""  # why it was left or removed, in a clause

    @property
    def stays(self) -> bool:
        return self.done in ("holds", "left")


class Elsewhere(Protocol):
    """Where memories lie outside the store: its backups, exports, files that could not be read."""

    def look(self, wanted: Wanted) -> list[Lying]:
        """What holds it; changes nothing."""
        ...

    def forget(self, wanted: Wanted, *, exports: bool) -> list[Lying]:
        """As much as can be. `exports`: also in files that an export has made somewhere."""
        ...


@dataclass(frozen=True, slots=True)
class Injection:
    session: str
    event: str
    refs: tuple[str, ...]
    tokens: int
    at: int
    about: str | None = None


class Keeping(Protocol):
    """Every method is durable on return; any thread may call it."""

    def remember(
        self,
        observation: Observation,
        origin: Origin,
        *,
        session: str,
        at: int,
        source: Source = "user",
        client: str = "user",
        provider: str | None = None,
    ) -> tuple[Ref, bool]:
        """Keep it in the origin's project, under this session (made if it is new). Returns it, and
        whether it is new: what the project knows already is not stored twice."""
        ...

    def pin(self, ref: Ref, *, pinned: bool) -> bool:
        """Only observations can be pinned; False when there is no such one."""
        ...

    def doomed(self, selection: Selection) -> Doomed:
        """What would go."""
        ...

    def traces(self, refs: Sequence[Ref]) -> list[Trace]: ...

    def forget(self, doomed: Doomed) -> Forgotten:
        """Really gone: rows, what is derived from them, their words in the full-text index, their bytes in
        the file and in its log."""
        ...

    def note_injection(self, injection: Injection) -> None: ...

    def injections(
        self, *, session: str | None = None, ref: Ref | None = None, limit: int = 1000
    ) -> Sequence[Injection]:
        """What was told, the newest first: to a session, or of a memory."""
        ...

    def note_rendering(self, stamp: str, refs: Sequence[str], tokens: int, at: int) -> None:
        """What a file in `context/` holds. Of old ones the last few hundred are kept."""
        ...

    def rendering(self, stamp: str) -> tuple[tuple[str, ...], int] | None:
        """The refs and the tokens."""
        ...

    def expire_evidence(self, before: int, limit: int = 500) -> int:
        """Empty settled events of sessions from before this time of their words; how many. 0: none is
        left."""
        ...
