"""What recall reads, on one SQLite file: matches, cards, lists, files, projects, sessions."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from claude_mem.model.refs import KINDS, Card, Filters, MemoryKind, Ref, kind_at, ref_at, span
from claude_mem.ports.library import Matches, Passing, Place, Project, Touching, Wording
from claude_mem.store.sqlite import cards, listing, matching
from claude_mem.store.sqlite.about import of_file
from claude_mem.store.sqlite.passing import MANY_WRONG, SqlitePassing
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.readers import Readers
from claude_mem.store.sqlite.wordbook import placed

SIZES_HOLD = 0.02
"""A span is counted again when the index has grown by this part of it."""
LOOKED_AT = 5_000
"""Memories of a file whose times are compared, where no filter leaves fewer."""
BESIDE = 2_000
"""Of those in a folder, which say less."""


class SqliteLibrary:
    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._sizes: dict[tuple[int, int], tuple[int, int]] = {}
        self._frequent = matching.Frequent()

    def passing(self, filters: Filters) -> SqlitePassing | None:
        if filters in (Filters(filters.project_id), Filters(filters.project_id, wrong=False)):
            with self._readers.read() as db:
                wrong = listing.listed(db, replace(filters, wrong=True), listing.Manner(MANY_WRONG + 1))
            if filters.wrong is None or len(wrong) <= MANY_WRONG:
                return None
        return SqlitePassing(self._readers, filters)

    def match(
        self, wording: Wording, within: tuple[int, int] | None, passing: Passing | None = None
    ) -> Matches:
        with self._readers.read() as db:
            everything = matching.size_of_all(db)
            sizes = matching.Sizes(self._size(db, within, everything) if within else everything, everything)
            found = matching.match(db, wording, within, sizes, self._frequent, passing)
            return Matches(sizes.span, tuple(found))

    def cards(self, refs: Sequence[Ref]) -> list[Card]:
        with self._readers.read() as db:
            return cards.cards(db, refs)

    def whole(self, refs: Sequence[Ref]) -> dict[Ref, tuple[Card, dict[str, Any]]]:
        with self._readers.read() as db:
            return cards.whole(db, refs)

    def listed(
        self,
        filters: Filters,
        *,
        limit: int,
        offset: int = 0,
        newest_first: bool = True,
        after: Place | None = None,
    ) -> list[Card]:
        with self._readers.read() as db:
            chosen = listing.listed(db, filters, listing.Manner(limit, offset, newest_first, after))
            by_ref = {card.ref: card for card in cards.cards(db, chosen)}
        return [by_ref[ref] for ref in chosen if ref in by_ref]

    def count(self, filters: Filters) -> int:
        with self._readers.read() as db:
            return listing.count(db, filters)

    def last_ids(self) -> dict[MemoryKind, int]:
        with self._readers.read() as db:
            return {kind: int(execute(db, f"last_{kind}").fetchone()[0]) for kind in KINDS}

    def touched(self, path: str, filters: Filters, limit: int) -> list[tuple[int, str]]:
        with self._readers.read() as db:
            return list(_touched(db, path, filters, limit).values())

    def touching(self, path: str, filters: Filters, limit: int) -> list[Touching]:
        with self._readers.read() as db:
            found = _touched(db, path, filters, limit)
            by_ref = {card.ref: card for card in cards.cards(db, list(found))}
        return [Touching(by_ref[ref], how) for ref, (_, how) in found.items() if ref in by_ref]

    def beside(
        self, folder: str, project_id: int | None, passing: Passing | None = None
    ) -> list[tuple[int, str]]:
        first, last = span(project_id) if project_id is not None else matching.EVERYWHERE
        folder, _ = placed(f"{folder}/x")
        limit = BESIDE if passing is None else -1
        found: list[tuple[int, str]] = []
        with self._readers.read() as db:
            rows = execute(db, "files_under", folder=folder, first=first, last=last, limit=limit)
            while len(found) < BESIDE and (some := list(islice(rows, BESIDE))):
                passed = passing(row["spot"] for row in some) if passing is not None else None
                found += [
                    (row["spot"], row["path"]) for row in some if passed is None or row["spot"] in passed
                ]
        return found[:BESIDE]

    def counted(self, session: str) -> dict[MemoryKind, int]:
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
        with self._readers.read() as db:
            row = execute(db, "project_by_id", id=id).fetchone()
        return None if row is None else Project(row["id"], row["key"], row["name"], row["root"])

    def projects(self, limit: int, offset: int = 0) -> list[Project]:
        with self._readers.read() as db:
            return [
                Project(**row) for row in execute(db, "projects_with_figures", limit=limit, offset=offset)
            ]

    def _size(self, db: sqlite3.Connection, span: tuple[int, int], everything: int) -> int:
        """Counted now and then: how rare a word is does not change with a few memories more."""
        of_all, size = self._sizes.get(span, (0, 0))
        if not size or abs(everything - of_all) > SIZES_HOLD * size:
            size = execute(db, "size_of_span", first=span[0], last=span[1]).fetchone()[0]
            self._sizes[span] = everything, size
        return size


def _touched(db: sqlite3.Connection, path: str, filters: Filters, limit: int) -> dict[Ref, tuple[int, str]]:
    """In their order: where each lies, and how it is about the file."""
    kinds = filters.kinds or KINDS
    meant = (
        (ref_at(place), (place, how))
        for place, how in of_file(db, path, filters.project_id)
        if kind_at(place) in kinds
    )
    is_narrowed = replace(filters, kinds=(), wrong=None) != Filters(filters.project_id)
    found = dict(islice(meant, None if is_narrowed else LOOKED_AT))
    newest = listing.listed(db, filters, listing.Manner(limit), listing.by_kind(found))
    return {ref: found[ref] for ref in newest}
