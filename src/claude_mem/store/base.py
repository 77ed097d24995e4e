"""What a store is: one `Store` with a part for each concern. `sqlite/` is one; another is a folder beside it
that passes the suites in `tests/contracts`.

Any thread may call a part; any call may block, sees or makes one state of the store, and raises StoreError.
What was changed is durable on return.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from claude_mem.api.memories import CopyReport
from claude_mem.api.projects import FacetsAnswer
from claude_mem.api.system import BackfillProgress, KnownSession
from claude_mem.model.events import Origin
from claude_mem.model.jobs import (
    Job,
    JobState,
    Lease,
    QueueFigures,
    Session,
    SessionBacklog,
    Spend,
    Spent,
)
from claude_mem.model.memory import Batch, Memory, Observation
from claude_mem.model.records import Record
from claude_mem.model.refs import Card, Filters, MemoryKind, Ref, Source
from claude_mem.store import values as v

KeySpan = tuple[int, int]
"""The first and the last memory key of a project."""


class Events(Protocol):
    """Accepts events, once each: one changes nothing when its effect is already there."""

    def accept(self, events: Sequence[v.NewEvent]) -> v.Accepted: ...

    def accept_past(self, events: Sequence[v.NewEvent], options: v.BackfillOptions) -> v.BackfillAccepted:
        """Beside what was captured as it happened, never into it."""

    def release(self, sessions: Sequence[str]) -> None: ...  # no more of them is on its way
    def known(self, sessions: Sequence[str]) -> dict[str, KnownSession]: ...
    def progress(self, since: int) -> BackfillProgress: ...

    def is_asked(self, session: str, prompt: str) -> bool:
        """Whether the session's current turn has a prompt, or this was its last."""


class Queue(Protocol):
    """Events on their way to become memory. No lease is ever of a failed session."""

    def backlogs(self) -> list[SessionBacklog]:
        """What waits in each session that nobody holds: those that are due by the time of their oldest job,
        then those that must wait, the soonest first. Of many sessions the first few dozen."""

    def lease(self, limit: int, session_id: int | None = None) -> Lease | None:
        """The run of ready jobs, of the next session or of this one, from its oldest up to the end of a turn;
        None when nothing is due."""

    def batch(self, lease: Lease) -> Batch:
        """The leased events with what has to be known around them: whose they are, what was asked, what is
        recorded."""

    def settle(
        self, lease: Lease, memory: Memory, spend: Spend | None = None, *, provider: str | None = None
    ) -> None:
        """Save what was learned (by `provider`) and what it cost, and mark the jobs done, in one transaction.
        What the project remembers already is not stored twice."""

    def postpone(
        self, lease: Lease, until: int, reason: str, *, failed: bool, spend: Spend | None = None
    ) -> None:
        """Make the jobs ready again, not before `until`; a failed attempt counts, a wait does not."""

    def park(self, lease: Lease, reason: str, spend: Spend | None = None) -> None: ...

    def reclaim(self) -> int:
        """Take back every lease: the one holder has just started, so all of them are dead."""

    def resume(self, job_ids: Sequence[int] | None = None) -> int:
        """Make parked jobs ready again; when none are named, all of them, and those that wait for a better
        moment."""

    def drop(self, job_ids: Sequence[int]) -> int:
        """Parked jobs are done with, unobserved; they stay as evidence. Returns how many were parked."""

    def spent(self, session_id: int, now: int) -> Spent:
        """By this session in its life, and by all since midnight UTC."""

    def spending(self, since: int) -> list[v.Spending]: ...
    def figures(self) -> QueueFigures: ...

    def jobs(self, state: JobState, limit: int, after: int = 0) -> list[tuple[Job, str | None]]:
        """Jobs in a state with the reason they are there, by id."""

    def counters(self) -> dict[str, int]:
        """What was counted over the store's life: accepted, duplicate, set_aside, …"""

    def count(self, name: str, by: int = 1) -> None: ...
    def last_event_at(self) -> int | None: ...


class Sessions(Protocol):
    def find(self, session: int | str) -> Session | None:
        """By the database's id (int) or the client's own (str)."""

    def fail(self, session_id: int) -> None:
        """An abort was requested: mark it failed; its queued events stay."""

    def interrupt_silent(self, before: int) -> int:
        """Mark open sessions without activity since `before` as interrupted."""

    def count_open(self) -> int: ...
    def last_open(self, limit: int) -> list[str]: ...  # their clients' ids, the last active one first

    def sessions(
        self, filters: Filters, *, limit: int, offset: int = 0, after: tuple[int, int] | None = None
    ) -> list[dict[str, Any]]:
        """The one in which something last happened first."""

    def count_sessions(self, filters: Filters) -> int: ...

    def session(self, given: str) -> dict[str, Any] | None:
        """By the client's id or the beginning of it, or by the database's; with its neighbours' ids."""

    def titles(self, ids: Sequence[int]) -> dict[str, dict[str, Any]]:
        """When they began and what they are about, by the client's id; asked by the database's."""

    def last_summaries(self, project_id: int, but_for: str, limit: int) -> list[int]:
        """The ids of the newest summaries, one a session."""

    def compacted_at(self, session: str) -> int: ...
    def figures(self, project_id: int) -> tuple[int, int]: ...  # how many sessions and observations
    def directories(self, project_id: int, limit: int) -> list[str]: ...  # where its last sessions worked


class MemoryFilter(Protocol):
    def __call__(self, memory_keys: Iterable[int]) -> set[int]: ...  # those that pass

    @property
    def listed(self) -> frozenset[int] | None: ...  # all that pass but for evidence, if they are few


class Memories(Protocol):
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
        """Save it in the origin's project, under this session (made if it is new). Returns it, and whether it
        is new: what the project knows already is not stored twice."""

    def revise(
        self, revisions: Sequence[v.Revision], expected: Sequence[v.Revision] = ()
    ) -> list[v.Revision]:
        """Change them all, or (raising ChangedMeanwhile, if what is expected is not so any more) none; found
        by their new words at once. Returns how they were; those not there are left out."""

    def passing(self, filters: Filters) -> MemoryFilter | None:
        """None: nothing is asked but the project, and what is marked wrong is too little to be in the way."""

    def match(
        self, wording: v.TextQuery, within: KeySpan | None, passing: MemoryFilter | None = None
    ) -> v.TextMatches:
        """What each word and phrase matches in a span (or in all). Words that are too frequent to be weighed
        are looked for among what rarer ones match, or what passes."""

    def cards(self, refs: Sequence[Ref]) -> list[Card]: ...  # those that exist, in no order

    def details(self, refs: Sequence[Ref]) -> dict[Ref, tuple[Card, dict[str, Any]]]:
        """With all the columns they have."""

    def list_cards(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: v.ListPosition | None = None,
    ) -> list[Card]:
        """By time, without a query; at one moment what was asked comes before what was done, and that before
        what was understood of it. By file as far as the index is."""

    def refs(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: v.ListPosition | None = None,
    ) -> list[Ref]:
        """The same list, without reading what the memories say."""

    def count(self, filters: Filters) -> int: ...  # how many such a list has in all

    def last_ids(self) -> dict[MemoryKind, int]:
        """The highest id of each kind; 0: there is none. Also of what says nothing, as a private prompt."""

    def keys_of_file(self, path: str, filters: Filters, limit: int) -> list[tuple[int, str]]:
        """The keys of a file's memories, the newest first, and how each is about it (see `FileMemory`): one
        path is the other's, or the end of it."""

    def of_file(self, path: str, filters: Filters, limit: int) -> list[v.FileMemory]:
        """The same, with their cards."""

    def in_folder(
        self, folder: str, project_id: int | None, passing: MemoryFilter | None = None, *, limit: int = 2_000
    ) -> list[tuple[int, str]]:
        """Keys of the memories of files in a folder and below it, and the files' paths."""

    def count_by_kind(self, session: str) -> dict[MemoryKind, int]:
        """How much of each kind a session (the client's own id) has."""


class Projects(Protocol):
    def find(self, given: str) -> v.Project | None:
        """By its key, else by its name: the one with a directory, else the one that callers only named, else
        an imported stranger's. Raises AmbiguousProject if there are several of the first kind there is."""

    def by_key(self, key: str) -> v.Project | None:
        """By its key, or by one of a project that was merged into it."""

    def by_id(self, id: int) -> v.Project | None: ...

    def newest(self, limit: int, offset: int = 0) -> list[v.Project]:
        """With their figures, the one last worked in first."""

    def all(self, *, weighed: bool = True) -> list[v.ProjectDetails]: ...

    def with_project(self, origin: Origin) -> Origin:
        """The same place, as one of the project that its work belongs to."""

    def rename(self, project_id: int, name: str, *, by_hand: bool = True) -> None: ...
    def place(self, project_id: int, root: str) -> None: ...
    def merge(self, gone: int, into: int) -> int: ...
    def finish_merging(self) -> int: ...


class Injections(Protocol):
    """What was injected into sessions, and rendered to files."""

    def note_injection(self, injection: v.Injection) -> None: ...

    def injections(
        self, *, session: str | None = None, ref: Ref | None = None, limit: int = 1000
    ) -> list[v.Injection]:
        """Into a session, or of a memory; the newest first."""

    def note_rendering(self, stamp: str, refs: Sequence[str], tokens: int, at: int) -> None:
        """What a file in `context/` holds. Of old ones the last few hundred are kept."""

    def rendering(self, stamp: str) -> tuple[tuple[str, ...], int] | None: ...  # the refs and the tokens

    def figures(self) -> dict[str, dict[str, int]]:
        """By the hook's event: how often, and how many tokens. What is deleted is left out from the next
        start on."""


class Deletion(Protocol):
    def plan(self, selection: v.Selection) -> v.ForgetPlan: ...  # what would go
    def identities(self, refs: Sequence[Ref]) -> list[v.MemoryIdentity]: ...

    def forget(self, plan: v.ForgetPlan) -> v.Forgotten:
        """Really gone: rows, what is derived from them, their words in the full-text index, their bytes on
        the disk. If it fails on the way, forgetting the same once more finishes it."""

    def finish_forgetting(self) -> bool:
        """What a kill has interrupted; at a worker's start. Whether there was anything to finish."""


class Copies(Protocol):
    """Copies of the store that lie beside it. One call at a time: the caller sees to it."""

    def look(self, request: v.DeletionRequest) -> list[CopyReport]: ...
    def forget(self, request: v.DeletionRequest) -> list[CopyReport]: ...
    def clear_drafts(self) -> None: ...  # what killed workers have left half made
    def surplus(self) -> list[Path]: ...  # copies past those that are kept, and what was left half made


class Transfer(Protocol):
    """Memories as records, out and in again."""

    def records(self, chosen: v.ExportSelection) -> Iterator[Record]: ...
    def absorb(self, records: Sequence[Record], *, own: bool) -> v.ImportResult: ...


class Statistics(Protocol):
    def news(self, since: v.NewsMarks | None) -> v.News:
        """Which projects have something new, and which sessions were compacted. None: all of it is new."""

    def unindexed(self) -> int: ...  # how many rows the full-text index is behind, at most
    def figures(self) -> dict[str, Any]: ...  # how much is stored, and how much of it was injected
    def activity(self, project_id: int, since: int) -> dict[str, dict[str, int]]: ...
    def types(self, project_id: int) -> dict[str, int]: ...
    def changed_files(self, project_id: int, limit: int) -> list[v.ChangedFile]: ...
    def facets(self, project_id: int | None) -> FacetsAnswer: ...
    def tool_uses(self, session_db_id: int, tool_use_ids: Sequence[str]) -> list[Ref]: ...
    def superseded(self, id: int) -> list[Ref]: ...
    def prompt(self, session_db_id: int, number: int) -> Ref | None: ...
    def times_injected(self, ref: Ref) -> int: ...
    def injected(self, since: int, project: str | None) -> list[v.InjectionCount]: ...
    def uses_asked_about(self, since: int, project: str | None) -> int: ...


class TextIndex(Protocol):
    """One call at a time: its owner is one loop of the worker, or a caller who has just added something."""

    def prepare(self) -> None: ...  # begin anew if the index was made by another version's rules
    def step(self) -> int: ...  # index some of what is new; how many rows that were. 0: it is in step.


class VectorTable(Protocol):
    """Vectors beside the memories they are of."""

    def put(self, blobs: Mapping[int, bytes]) -> list[int]:
        """Those whose memory exists, in one transaction with the look at it; says which."""

    def remove(self, memory_keys: Sequence[int]) -> None: ...
    def blobs(self, memory_keys: Sequence[int]) -> dict[int, bytes]: ...

    def newest(self, within: KeySpan | None, limit: int, at_once: int) -> Iterator[list[tuple[int, bytes]]]:
        """The last of a span, or about as many of the last of all, in lists of at most `at_once`."""

    def count(self) -> int: ...
    def clear(self) -> None: ...


class EmbeddingProgress(Protocol):
    """How far the vectors are, also those of a backend that keeps them elsewhere."""

    def made(self) -> tuple[str, str] | None: ...  # whose vectors there are, and their stamp

    def begin(self, maker: str) -> str:
        """From the first memory on, under a new stamp, with the vectors of before gone from the store."""

    def unembedded(self, limit: int) -> v.Unembedded | None:
        """Some of those that have none yet, observations first; None: all have."""

    def embedded(self, marks: Mapping[MemoryKind, int], again: Mapping[str, str]) -> None: ...

    def waiting(self, maker: str) -> int:
        """How many memories have no vector of this maker (ids may have gaps, so: at most)."""

    def forgotten(self) -> tuple[str, list[int]] | None:
        """Some of the vectors that must go, and the name of the note that says so."""

    def settle(self, note: str) -> None: ...  # its vectors are gone


class Upkeep(Protocol):
    """What is done when nobody waits. Evidence is the raw text of what was done, never what was learned of
    it, and never what nobody has observed yet."""

    def checkpoint(self) -> bool:
        """Move what is only logged into place; False if somebody stood in the way of some of it."""

    def backup_if_due(self) -> Path | None: ...
    def weigh_evidence(self) -> v.Evidence: ...
    def expired_evidence(self, before: int) -> v.Evidence: ...  # that of sessions from before some time

    def expire_evidence(self, before: int, limit: int = 500) -> int:
        """Empty some of it of its words; how many events. 0: none is left."""

    def trim_evidence(self, excess: int) -> v.Evidence:
        """Empty the oldest until so many characters are gone."""

    def size(self) -> v.DatabaseSize: ...

    def shrink(self) -> int:
        """Give space back if too much is unused, without anybody waiting for long. How many bytes."""

    def shrink_fully(self) -> int: ...  # all of it, however long that takes


class Store:
    recovered: v.Recovered | None
    """What was done about a damaged database when this one was opened; None: it was whole."""
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
    def close(self) -> None: ...  # finish what is being written, then let go of the database

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
