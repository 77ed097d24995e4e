"""Memories, read by search and by lists; saved by hand and corrected."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import islice
from typing import Any

from claude_mem.model.events import Origin
from claude_mem.model.jobs import SessionStatus
from claude_mem.model.memory import Observation, content_key
from claude_mem.model.refs import KINDS, Card, Filters, MemoryKind, Ref, Source, kind_at, ref_at, span
from claude_mem.model.structs import replace
from claude_mem.store.sqlite import cards, observations, projects, text_index
from claude_mem.store.sqlite.connection import (
    Part,
    Readers,
    Value,
    Writer,
    execute,
    iso,
    text,
    transaction,
)
from claude_mem.store.sqlite.memory_filters import (
    MANY_WRONG,
    ListOptions,
    MemoryFilter,
    by_kind,
    count_memories,
    keys_of_file,
    list_refs,
)
from claude_mem.store.sqlite.text_document import placed
from claude_mem.store.values import FileMemory, ListPosition, Project, Revision, TextMatches, TextQuery

SIZES_HOLD = 0.02
"""A span is counted again when the index has grown by this part of it."""
OF_FILE = 5_000
"""Memories of a file whose times are compared, where no filter leaves fewer."""
BESIDE = 2_000
"""Of those in a folder, which say less."""


class Memories(Part):
    """Reads, adds and corrects memories. Each call sees one state of the store."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        super().__init__(readers, writer)
        self._sizes: dict[tuple[int, int], tuple[int, int]] = {}
        self._frequent = text_index.Frequent()

    @transaction
    def remember(
        self,
        db: sqlite3.Connection,
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
        project_id = projects.project_of(db, origin, at)
        key = content_key(observation)
        known = observations.same(db, project_id, key, at)
        if known is not None:
            return Ref("observation", known), False
        around: dict[str, Value] = {
            "project": projects.display_name(db, project_id, origin, origin.name),
            "project_id": project_id,
            "client": client,
            "branch": origin.branch,
            "commit_sha": origin.commit,
        }
        row = execute(db, "find_standing", claude_session_id=text(session)).fetchone()
        session_id = row and row["id"]
        if row is None:
            session_id = execute(
                db,
                "add_session",
                **around,
                claude_session_id=session,
                status=SessionStatus.COMPLETED,
                cwd=origin.root or None,
                transcript_path=None,
                at=iso(at),
                at_epoch=at,
            ).lastrowid
        # What was only read, or comes from elsewhere, stands beside what is known, never in its place.
        before = [] if source == "external" else observations.current_observations(db, project_id, at)
        around |= {
            "session_id": session_id,
            "prompt_number": None,
            "tool_use_ids": "[]",
            "created_at": iso(at),
            "created_at_epoch": at,
            "content_key": key,
            "provider": provider,
            "source": source,
        }
        return Ref("observation", observations.add(db, observation, before, around)), True

    @transaction
    def revise(
        self, db: sqlite3.Connection, revisions: Sequence[Revision], expected: Sequence[Revision] = ()
    ) -> list[Revision]:
        """Change them all, or (raising ChangedMeanwhile, if what is expected is not so any more) none; found
        by their new words at once, durable on return. Returns how they were; those not there are left out."""
        return observations.revise(db, revisions, expected)

    def passing(self, filters: Filters) -> MemoryFilter | None:
        """None: nothing is asked but the project, and what is marked wrong is too little to be in the way."""
        if filters == Filters(filters.project_id):
            return None
        if filters == Filters(filters.project_id, wrong=False):
            with self._readers.read() as db:
                wrong = list_refs(db, replace(filters, wrong=True), ListOptions(MANY_WRONG + 1))
            if len(wrong) <= MANY_WRONG:
                return None
        return MemoryFilter(self._readers, filters)

    def match(
        self, wording: TextQuery, within: tuple[int, int] | None, passing: MemoryFilter | None = None
    ) -> TextMatches:
        """What each expression matches in a span (or in all). Expressions that are too frequent to be weighed
        are looked for among those that pass."""
        with self._readers.read() as db:
            everything = text_index.size_of_all(db)
            sizes = text_index.Sizes(self._size(db, within, everything) if within else everything, everything)
            found = text_index.match(db, wording, within, sizes, self._frequent, passing)
            return TextMatches(sizes.span, tuple(found))

    def cards(self, refs: Sequence[Ref]) -> list[Card]:
        """Those that exist, in no order."""
        with self._readers.read() as db:
            return cards.cards(db, refs)

    def details(self, refs: Sequence[Ref]) -> dict[Ref, tuple[Card, dict[str, Any]]]:
        """With all the columns they have."""
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
        """By time, without a query; at one moment what was asked comes before what was done, and that before
        what was understood of it. By file as far as the index is."""
        with self._readers.read() as db:
            chosen = list_refs(db, filters, ListOptions(limit, offset, newest_first, after))
            by_ref = {card.ref: card for card in cards.cards(db, chosen)}
        return [by_ref[ref] for ref in chosen if ref in by_ref]

    def refs(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: ListPosition | None = None,
    ) -> list[Ref]:
        """The same list, without reading what the memories say."""
        with self._readers.read() as db:
            return list_refs(db, filters, ListOptions(limit, offset, newest_first, after))

    def count(self, filters: Filters) -> int:
        """How many such a list has in all."""
        with self._readers.read() as db:
            return count_memories(db, filters)

    def last_ids(self) -> dict[MemoryKind, int]:
        """The highest id of each kind; 0: there is none. Also of what says nothing, as a private prompt."""
        with self._readers.read() as db:
            return {kind: text_index.last_id(db, kind) for kind in KINDS}

    def keys_of_file(self, path: str, filters: Filters, limit: int) -> list[tuple[int, str]]:
        """The keys of a file's memories, the newest first, and how each is about it (see `FileMemory`): one
        path is the other's, or the end of it."""
        with self._readers.read() as db:
            return list(_of_file(db, path, filters, limit).values())

    def of_file(self, path: str, filters: Filters, limit: int) -> list[FileMemory]:
        """The same, with their cards."""
        with self._readers.read() as db:
            found = _of_file(db, path, filters, limit)
            by_ref = {card.ref: card for card in cards.cards(db, list(found))}
        return [FileMemory(by_ref[ref], how) for ref, (_, how) in found.items() if ref in by_ref]

    def in_folder(
        self, folder: str, project_id: int | None, passing: MemoryFilter | None = None, *, limit: int = BESIDE
    ) -> list[tuple[int, str]]:
        """Keys of the memories of files in a folder and below it, and the files' paths."""
        first, last = span(project_id) if project_id is not None else text_index.EVERYWHERE
        folder, _ = placed(f"{folder}/x")
        rows_read = limit if passing is None else -1
        found: list[tuple[int, str]] = []
        with self._readers.read() as db:
            rows = execute(db, "files_under", folder=folder, first=first, last=last, limit=rows_read)
            while len(found) < limit and (some := list(islice(rows, limit))):
                passed = passing(row["spot"] for row in some) if passing is not None else None
                found += [
                    (row["spot"], row["path"]) for row in some if passed is None or row["spot"] in passed
                ]
        return found[:limit]

    def count_by_kind(self, session: str) -> dict[MemoryKind, int]:
        """How much of each kind a session (the client's own id) has."""
        with self._readers.read() as db:
            row = execute(db, "count_of_session", session=session).fetchone()
            return {kind: row[kind] for kind in KINDS}

    def project(self, given: str) -> Project | None:
        """By its key, else by its name; of several with one name, the one last worked in."""
        with self._readers.read() as db:
            row = execute(db, "live_project_by_key", given=given).fetchone()
            row = row or execute(db, "projects_by_name", given=given).fetchone()
        return None if row is None else Project(row["id"], row["key"], row["name"], row["root"])

    def project_by_id(self, id: int) -> Project | None:
        row = self._row("project_by_id", id=id)
        return None if row is None else Project(row["id"], row["key"], row["name"], row["root"])

    def projects(self, limit: int, offset: int = 0) -> list[Project]:
        """With their figures, the one last worked in first."""
        return [Project(**row) for row in self._rows("projects_with_figures", limit=limit, offset=offset)]

    def _size(self, db: sqlite3.Connection, span: tuple[int, int], everything: int) -> int:
        """Counted now and then: how rare a word is does not change with a few memories more."""
        of_all, size = self._sizes.get(span, (0, 0))
        if not size or abs(everything - of_all) > SIZES_HOLD * size:
            size = execute(db, "size_of_span", first=span[0], last=span[1]).fetchone()[0]
            self._sizes[span] = everything, size
        return size


def _of_file(db: sqlite3.Connection, path: str, filters: Filters, limit: int) -> dict[Ref, tuple[int, str]]:
    """In their order: where each lies, and how it is about the file."""
    kinds = filters.kinds or KINDS
    meant = (
        (ref_at(place), (place, how))
        for place, how in keys_of_file(db, path, filters.project_id)
        if kind_at(place) in kinds
    )
    is_narrowed = replace(filters, kinds=(), wrong=None) != Filters(filters.project_id)
    found = dict(islice(meant, None if is_narrowed else OF_FILE))
    newest = list_refs(db, filters, ListOptions(limit), by_kind(found))
    return {ref: found[ref] for ref in newest}
