"""Memories: search, lists, reading in full, saving and correcting."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import islice
from typing import Any

from claude_mem.model.clock import Clock, iso
from claude_mem.model.events import Origin
from claude_mem.model.jobs import SessionStatus
from claude_mem.model.memory import Observation, content_key
from claude_mem.model.refs import KINDS, Card, Filters, MemoryKind, Ref, Source, kind_at, ref_at
from claude_mem.model.structs import replace
from claude_mem.store.relational import cards, observations, projects, text_matcher
from claude_mem.store.relational.memory_filters import (
    MANY_WRONG,
    KeyFilter,
    ListOptions,
    by_kind,
    count_memories,
    keys_of_file,
    list_refs,
)
from claude_mem.store.relational.part import (
    Connection,
    Part,
    Readers,
    Writer,
    added,
    execute,
    last_id,
    transaction,
    tuples,
)
from claude_mem.store.relational.rows import Value, batches, text
from claude_mem.store.relational.text_document import split_path
from claude_mem.store.values import FileMemory, ListPosition, Revision, TextMatches, TextQuery

OF_FILE = 5_000
"""The maximum number of memories of a file whose times are compared, if no filter leaves fewer."""
BESIDE = 2_000
"""The same limit for memories in a folder, which are less relevant."""
MOST_LOOKED_THROUGH = 4
"""The factor if some may not pass the filter."""


class Memories(Part):
    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        super().__init__(readers, writer, clock)
        self._known = text_matcher.IndexCounts()

    @transaction
    def remember(
        self,
        db: Connection,
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
        project_id = projects.project_of(db, origin, at)
        key = content_key(observation)
        known = observations.find_same(db, project_id, key, at)
        if known is not None:
            return Ref("observation", known), False
        around: dict[str, Value] = {
            "project": projects.display_name(db, project_id, origin, origin.name),
            "project_id": project_id,
            "client": client,
            "branch": origin.branch,
            "commit_sha": origin.commit,
            "created_at": iso(at),
            "created_at_epoch": at,
        }
        row = execute(db, "find_session_state", claude_session_id=text(session)).fetchone()
        session_id = row and row["id"]
        if row is None:
            state: dict[str, Value] = {"status": SessionStatus.COMPLETED, "cwd": origin.root or None}
            session_id = added(
                db, "add_session", **around, **state, claude_session_id=session, transcript_path=None
            )
        # Memories that were only read or imported never replace known ones.
        before = [] if source == "external" else observations.current_observations(db, project_id, at)
        around |= {
            "session_id": session_id,
            "prompt_number": None,
            "tool_use_ids": "[]",
            "content_key": key,
            "provider": provider,
            "source": source,
        }
        return Ref("observation", observations.add_observation(db, observation, before, around)), True

    @transaction
    def revise(
        self, db: Connection, revisions: Sequence[Revision], expected: Sequence[Revision] = ()
    ) -> list[Revision]:
        """Change all of them, or none: raises ChangedMeanwhile if `expected` no longer holds. The index
        follows at once. Returns the previous values; missing ids are left out."""
        return observations.revise(db, revisions, expected)

    def key_filter(self, filters: Filters) -> KeyFilter | None:
        """None: the filters name only the project, and few memories are marked wrong."""
        if set(filters.kinds) == set(KINDS):
            filters = replace(filters, kinds=())
        if filters == Filters(filters.project_id):
            return None
        if filters == Filters(filters.project_id, wrong=False):
            with self._readers.read() as db:
                wrong = list_refs(db, replace(filters, wrong=True), ListOptions(MANY_WRONG + 1))
            if len(wrong) <= MANY_WRONG:
                return None
        return KeyFilter(self._readers, filters)

    def match(
        self, wording: TextQuery, project_id: int | None, key_filter: KeyFilter | None = None
    ) -> TextMatches:
        """The matches of each word and phrase in a project (or in all). Words too frequent to be weighed are
        only looked up among the matches of rarer words, or among what passes the filter."""
        with self._readers.read() as db:
            span = db.span(project_id)
            everything, known = db.words.size_of_all(db), self._known_to(db)
            sizes = known.of(db, span, everything, hurried=wording.is_hurried)
            matcher = db.words.matcher(db, span, sizes.total, everything, known.frequent, key_filter)
            return TextMatches(sizes, tuple(matcher.match(wording)))

    def _known_to(self, db: Connection) -> text_matcher.IndexCounts:
        """What was counted before, of what the caller sees."""
        del db
        return self._known

    def cards(self, refs: Sequence[Ref]) -> list[Card]:
        """Those that exist, unordered."""
        with self._readers.read() as db:
            return cards.cards(db, refs)

    def details(self, refs: Sequence[Ref]) -> dict[Ref, tuple[Card, dict[str, Any]]]:
        """With all their columns."""
        with self._readers.read() as db:
            return cards.details(db, refs)

    def list_cards(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: ListPosition | None = None,
    ) -> list[Card]:
        """By time. At the same time: prompts, then evidence, observations, summaries. A file filter uses the
        index of files."""
        with self._readers.read() as db:
            refs = list_refs(db, filters, ListOptions(limit, offset, newest_first, after))
            by_ref = {card.ref: card for card in cards.cards(db, refs)}
        return [by_ref[ref] for ref in refs if ref in by_ref]

    def refs(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: ListPosition | None = None,
    ) -> list[Ref]:
        """The same list without the memories' contents."""
        with self._readers.read() as db:
            return list_refs(db, filters, ListOptions(limit, offset, newest_first, after))

    def count(self, filters: Filters) -> int:
        """The length of such a list."""
        with self._readers.read() as db:
            return count_memories(db, filters)

    def last_ids(self) -> dict[MemoryKind, int]:
        """The highest id of each kind; 0: there is none. Rows without text count too (private prompts)."""
        with self._readers.read() as db:
            return {kind: last_id(db, kind) for kind in KINDS}

    def keys_of_file(self, path: str, filters: Filters, limit: int) -> list[tuple[int, str]]:
        """The keys of a file's memories, newest first, and how each relates to it (see `FileMemory`). Paths
        match if one ends with the other."""
        with self._readers.read() as db:
            return list(_of_file(db, path, filters, limit).values())

    def of_file(self, path: str, filters: Filters, limit: int) -> list[FileMemory]:
        """The same, with their cards."""
        with self._readers.read() as db:
            found = _of_file(db, path, filters, limit)
            by_ref = {card.ref: card for card in cards.cards(db, list(found))}
        return [FileMemory(by_ref[ref], how) for ref, (_, how) in found.items() if ref in by_ref]

    def in_folder(
        self, folder: str, project_id: int | None, key_filter: KeyFilter | None = None, *, limit: int = BESIDE
    ) -> list[tuple[int, str]]:
        """Keys of the memories of files below a folder, and the files' paths."""
        folder, _ = split_path(f"{folder}/x")
        few = key_filter and key_filter.listed
        with self._readers.read() as db:
            if few:
                keys = json.dumps(list(few))
                return tuples(db, "files_under_among", folder=folder, memory_keys=keys, limit=limit)
            most = limit if key_filter is None else limit * MOST_LOOKED_THROUGH
            first, last = db.span(project_id)
            files = tuples(db, "files_under", folder=folder, first=first, last=last, limit=most)
        if key_filter is None:
            return files
        found: list[tuple[int, str]] = []
        for some in batches(files, limit):
            passed = key_filter(key for key, _ in some)
            found += [(key, path) for key, path in some if key in passed]
            if len(found) >= limit:
                break
        return found[:limit]

    def count_by_kind(self, session: str) -> dict[MemoryKind, int]:
        """How much of each kind a session (the client's own id) has."""
        with self._readers.read() as db:
            row = execute(db, "count_of_session", session=session).fetchone()
            return {kind: row[kind] for kind in KINDS}


def _of_file(db: Connection, path: str, filters: Filters, limit: int) -> dict[Ref, tuple[int, str]]:
    """In order: the position of each, and its relation to the file."""
    kinds = filters.kinds or KINDS
    matching = (
        (ref_at(key), (key, how))
        for key, how in keys_of_file(db, path, filters.project_id)
        if kind_at(key) in kinds
    )
    is_narrowed = replace(filters, kinds=(), wrong=None) != Filters(filters.project_id)
    found = dict(islice(matching, None if is_narrowed else OF_FILE))
    newest = list_refs(db, filters, ListOptions(limit), by_kind(found))
    return {ref: found[ref] for ref in newest}
