"""What a store is: one `Store` with a part for each concern. `sqlite/` is one; another is a folder beside it
that passes the suites in `tests/contracts`.

Any thread may call a part. Any call may block, is one transaction, and raises StoreError. Changes are durable
on return.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from claude_mem.api.memories import CopyReport
from claude_mem.api.projects import FacetsAnswer
from claude_mem.api.system import BackfillProgress, KnownSession
from claude_mem.model.events import Origin
from claude_mem.model.jobs import (
    CallCost,
    Job,
    JobState,
    Lease,
    QueueFigures,
    Session,
    SessionBacklog,
    SpentSoFar,
)
from claude_mem.model.memory import Batch, Findings, Observation
from claude_mem.model.records import Record
from claude_mem.model.refs import Card, Filters, MemoryKind, Ref, Source
from claude_mem.store import values as v

"""The first and the last memory key of a project."""


class Events(Protocol):
    """Accepts events, each once: an event whose effect is already stored changes nothing."""

    def accept(self, events: Sequence[v.NewEvent]) -> v.Accepted: ...

    def accept_past(self, events: Sequence[v.NewEvent], options: v.BackfillOptions) -> v.BackfillAccepted:
        """Events from transcripts. They never change a session that was captured live."""

    def release(self, sessions: Sequence[str]) -> None: ...  # no more events of these will arrive
    def known(self, sessions: Sequence[str]) -> dict[str, KnownSession]: ...
    def progress(self, since: int) -> BackfillProgress: ...

    def has_prompt(self, session: str, prompt: str) -> bool:
        """Whether the session's current turn has a prompt, or this was its last prompt."""

    def is_forgotten(self, session: str) -> bool:
        """Whether all of it was forgotten, even if it has continued since: its transcript is not read."""


class Queue(Protocol):
    """Events that wait to be observed. A failed session is never leased."""

    def backlogs(self) -> list[SessionBacklog]:
        """The backlog of each session that is not leased: first those that are due, by their oldest job, then
        those that must wait, soonest first. At most a few dozen."""

    def lease(self, limit: int, session_id: int | None = None) -> Lease | None:
        """Ready jobs of the next session, or of this one, from the oldest to the end of a turn; None if
        nothing is due."""

    def batch(self, lease: Lease) -> Batch:
        """The leased events with their context: the session, the user's request, what is already recorded."""

    def settle(
        self, lease: Lease, findings: Findings, spend: CallCost | None = None, *, provider: str | None = None
    ) -> None:
        """Save the findings (written by `provider`) and its cost, and mark the jobs done, in one transaction.
        What the project already knows is not stored twice. It replaces a fallback."""

    def postpone(
        self, lease: Lease, until: int, reason: str, *, failed: bool, spend: CallCost | None = None
    ) -> None:
        """Make the jobs ready again, not before `until`; a failed attempt counts, a wait does not."""

    def park(
        self, lease: Lease, reason: str, spend: CallCost | None = None, *, fallback: Findings | None = None
    ) -> None:
        """Park the jobs with a reason. `fallback`: what the offline observer makes of them meanwhile. It is
        saved in the same transaction, and replaces an earlier one."""

    def reclaim(self) -> int:
        """Release all leases: a worker that has just started has none of them."""

    def resume(self, job_ids: Sequence[int] | None = None) -> int:
        """Make parked jobs ready again; without ids, all of them, and those that were postponed. A batch that
        has a fallback is resumed completely. Returns how many jobs were parked."""

    def drop(self, job_ids: Sequence[int]) -> int:
        """Settle parked jobs without observing them; they stay as evidence, and a fallback stays as memory.
        Returns how many were parked."""

    def spent(self, session_id: int, now: int) -> SpentSoFar:
        """By this session in total, and by all sessions since midnight UTC."""

    def spending(self, since: int) -> list[v.DailyCost]: ...
    def figures(self) -> QueueFigures: ...

    def jobs(self, state: JobState, limit: int, after: int = 0) -> list[tuple[Job, str | None]]:
        """Jobs in a state, by id, each with its reason."""

    def counters(self) -> dict[str, int]:
        """Counters over the store's lifetime: accepted, duplicate, set_aside, …"""

    def count(self, name: str, by: int = 1) -> None: ...
    def last_event_at(self) -> int | None: ...


class Sessions(Protocol):
    def find(self, session: int | str) -> Session | None:
        """By the database's id (int) or the client's own (str)."""

    def fail(self, session_id: int) -> None:
        """Mark an aborted session failed; its queued events stay."""

    def interrupt_silent(self, before: int) -> int:
        """Mark open sessions without activity since `before` as interrupted."""

    def count_open(self) -> int: ...
    def last_open(self, limit: int) -> list[str]: ...  # the agents' ids, most recently active first

    def sessions(
        self, filters: Filters, *, limit: int, offset: int = 0, after: tuple[int, int] | None = None
    ) -> list[dict[str, Any]]:
        """Most recently active first."""

    def count_sessions(self, filters: Filters) -> int: ...

    def session(self, given: str) -> dict[str, Any] | None:
        """By the client's id, with or without its agent's name, or the beginning of it, or by the database's;
        with the previous and the next session. Raises AmbiguousSession if it begins several."""

    def titles(self, ids: Sequence[int]) -> dict[str, dict[str, Any]]:
        """Start time and title by the client's id, for these ids of the database."""

    def last_summaries(self, project_id: int, but_for: str, limit: int, *, own: bool = True) -> list[int]:
        """The ids of the newest summaries, one a session. `own`: else those of other members of the team."""

    def compacted_at(self, session: str) -> int: ...
    def figures(self, project_id: int) -> tuple[int, int]: ...  # how many sessions and observations
    def directories(self, project_id: int, limit: int) -> list[str]: ...  # where its last sessions worked
    def clients(
        self, project_id: int | None = None
    ) -> list[str]: ...  # by which agents; None: in any project
    def authors(self, project_id: int | None = None) -> list[str]: ...  # by which other members of the team


class KeyFilter(Protocol):
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
        """Save it in the origin's project, in this session (created if it is new). Returns its ref, and
        whether it is new: what the project already knows is not stored twice."""

    def revise(
        self, revisions: Sequence[v.Revision], expected: Sequence[v.Revision] = ()
    ) -> list[v.Revision]:
        """Change all of them, or none: raises ChangedMeanwhile if `expected` no longer holds. The index
        follows at once. Returns the previous values; missing ids are left out."""

    def key_filter(self, filters: Filters) -> KeyFilter | None:
        """None: the filters name only the project, and few memories are marked wrong."""

    def match(
        self, wording: v.TextQuery, project_id: int | None, key_filter: KeyFilter | None = None
    ) -> v.TextMatches:
        """The matches of each word and phrase in a project (or in all). Words too frequent to be weighed are
        only looked up among the matches of rarer words, or among what passes the filter."""

    def cards(self, refs: Sequence[Ref]) -> list[Card]: ...  # those that exist, unordered

    def details(self, refs: Sequence[Ref]) -> dict[Ref, tuple[Card, dict[str, Any]]]:
        """With all their columns."""

    def list_cards(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: v.ListPosition | None = None,
    ) -> list[Card]:
        """By time. At the same time: prompts, then evidence, observations, summaries. A file filter uses the
        index of files."""

    def refs(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: v.ListPosition | None = None,
    ) -> list[Ref]:
        """The same list without the memories' contents."""

    def count(self, filters: Filters) -> int: ...  # the length of such a list

    def last_ids(self) -> dict[MemoryKind, int]:
        """The highest id of each kind; 0: there is none. Rows without text count too (private prompts)."""

    def keys_of_file(self, path: str, filters: Filters, limit: int) -> list[tuple[int, str]]:
        """The keys of a file's memories, newest first, and how each relates to it (see `FileMemory`). Paths
        match if one ends with the other."""

    def of_file(self, path: str, filters: Filters, limit: int) -> list[v.FileMemory]:
        """The same, with their cards."""

    def in_folder(
        self, folder: str, project_id: int | None, key_filter: KeyFilter | None = None, *, limit: int = 2_000
    ) -> list[tuple[int, str]]:
        """Keys of the memories of files below a folder, and the files' paths."""

    def count_by_kind(self, session: str) -> dict[MemoryKind, int]:
        """How much of each kind a session (the client's own id) has."""


class Projects(Protocol):
    def find(self, given: str) -> v.Project | None:
        """By its key, else by its name: the one with a directory, else the one that callers only named, else
        an untrusted import's. Raises AmbiguousProject if there are several of the first kind that exists."""

    def by_key(self, key: str) -> v.Project | None:
        """By its key, or by the key of a project that was merged into it."""

    def by_id(self, id: int) -> v.Project | None: ...

    def newest(self, limit: int, offset: int = 0) -> list[v.Project]:
        """With their figures, most recently used first."""

    def all(self, *, weighed: bool = True) -> list[v.ProjectDetails]: ...

    def with_project(self, origin: Origin) -> Origin:
        """The origin, with the project that its directory belongs to."""

    def rename(self, project_id: int, name: str, *, by_hand: bool = True) -> None: ...
    def set_root(self, project_id: int, root: str) -> None: ...
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
        """What a file in `context/` contains. The last few hundred are stored."""

    def rendering(self, stamp: str) -> tuple[tuple[str, ...], int] | None: ...  # the refs and the tokens

    def figures(self) -> dict[str, dict[str, int]]:
        """By hook event: how often, and how many tokens. Deleted injections are subtracted at the next
        start."""


class Deletion(Protocol):
    def plan(self, selection: v.Selection) -> v.ForgetPlan: ...  # what would be deleted
    def identities(self, refs: Sequence[Ref]) -> list[v.MemoryIdentity]: ...

    def forget(self, plan: v.ForgetPlan) -> v.Forgotten:
        """Removes the rows, what is derived from them, their words in the full-text index and their bytes on
        disk. If it fails midway, the same call finishes it."""

    def finish_forgetting(self) -> bool:
        """Finish an interrupted deletion, when a worker starts. Returns whether there was one."""


class Copies(Protocol):
    """Backups of the store. The caller makes one call at a time."""

    def look(self, request: v.DeletionRequest) -> list[CopyReport]: ...
    def forget(self, request: v.DeletionRequest) -> list[CopyReport]: ...
    def clear_drafts(self) -> None: ...  # left behind by killed workers
    def surplus(self) -> list[Path]: ...  # copies beyond the retention, and unfinished ones


class Transfer(Protocol):
    """Export and import of memories as records."""

    def records(self, chosen: v.ExportSelection) -> Iterator[Record]: ...
    def absorb(
        self, records: Sequence[Record], *, own: bool, author: str | None = None
    ) -> v.ImportResult: ...  # `author`: the team member who wrote them


class Statistics(Protocol):
    def news(self, since: v.NewsMarks | None) -> v.News:
        """Which projects changed, and which sessions were compacted. None: everything is new."""

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
    def observed_tool_uses(self, since: int, project: str | None) -> int: ...


class TextIndex(Protocol):
    """One call at a time, from a loop of the worker or from a caller that has just added something."""

    def prepare(self) -> None: ...  # rebuild it if another version made it
    def step(self, *, hurried: bool = True) -> int:
        """Index some new rows; returns how many. 0: up to date. `hurried`: in a short transaction."""

    def tidy(self) -> bool:
        """A short step of what makes searches faster, when nothing else is to be done; False: nothing is
        left."""


class VectorTable(Protocol):
    """Vectors, stored in the database."""

    def put(self, blobs: Mapping[int, bytes]) -> dict[int, int]:
        """Store those whose memory exists, in one transaction with that check; returns their keys, each with
        its project."""

    def projects(self, memory_keys: Sequence[int]) -> dict[int, int]: ...  # of the memories that exist

    def remove(self, memory_keys: Sequence[int]) -> None: ...
    def blobs(self, memory_keys: Sequence[int]) -> dict[int, bytes]: ...

    def existing(self, memory_keys: Sequence[int]) -> set[int]: ...  # of these, those that have one

    def newest(self, project_id: int | None, limit: int, at_once: int) -> Iterator[list[tuple[int, bytes]]]:
        """The newest of a project, or about as many of the newest of all, in lists of at most `at_once`."""

    def count(self) -> int: ...
    def clear(self) -> None: ...

    def changes(self, mark: int | None) -> tuple[int | None, dict[int, dict[int, bytes]] | None]:
        """The next mark, and the vectors that any process has stored since this one, by project (None: too
        many). Without a mark: from now on."""

    def nearest(
        self, query: Sequence[float], project_id: int | None, limit: int
    ) -> list[tuple[int, bytes]] | None:
        """Those of a project, or of all, that are closest to a vector of length 1, unordered, as the database
        compares them: rounded, so which are the last of them may differ. None: it cannot."""

    def pgvector(self) -> str | None: ...  # for people: which version compares; None: not PostgreSQL


class EmbeddingProgress(Protocol):
    """Which memories have vectors, also with a backend that stores them elsewhere."""

    def made(self) -> tuple[str, str] | None: ...  # the embedder that made them, and their stamp

    def begin(self, maker: str) -> str:
        """Start over under a new stamp, and delete the stored vectors. Raises VectorsInUse while another
        machine uses them."""

    def note_used(self) -> None: ...  # this machine uses the vectors

    def copy(self) -> int:
        """Copy some vectors to where the database compares them; 0: none is left to copy."""

    def unembedded(self, limit: int) -> v.Unembedded | None:
        """Some memories without a vector, observations first; None: all have one."""

    def embedded(self, marks: Mapping[MemoryKind, int], again: Mapping[str, str]) -> None: ...

    def waiting(self, maker: str) -> int:
        """At most this many memories have no vector of this embedder (ids may have gaps)."""

    def forgotten(self) -> tuple[str, list[int]] | None:
        """Some vectors that must be deleted, and the name of the note about them."""

    def settle(self, note: str) -> None: ...  # its vectors are deleted


class Upkeep(Protocol):
    """Maintenance in the background. Evidence is the raw input and output of tools that was already observed,
    never an observation."""

    def checkpoint(self) -> bool:
        """Checkpoint the write-ahead log; False if a reader blocked part of it."""

    def backup_if_due(self) -> Path | None: ...
    def weigh_evidence(self) -> v.Evidence: ...
    def expired_evidence(self, before: int) -> v.Evidence: ...  # of sessions that ended before

    def expire_evidence(self, before: int, limit: int = 500) -> int:
        """Delete the text of some of it; returns how many events. 0: none is left."""

    def trim_evidence(self, excess: int) -> v.Evidence:
        """Delete the text of the oldest until this many characters are freed."""

    def size(self) -> v.DatabaseSize: ...

    def shrink(self) -> int:
        """Return unused space to the file system in short steps, if there is too much. Returns the bytes."""

    def shrink_fully(self) -> int: ...  # all of it; may take long


class Store(ABC):
    recovered: v.Recovered | None
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
