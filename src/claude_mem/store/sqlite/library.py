"""What recall reads, on one SQLite file: matches, cards, lists, files, projects, sessions."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any

from claude_mem.model.recall import KINDS, Card, Filters, MemoryKind, Ref, ref_at, span, spot
from claude_mem.ports.library import Matches, Place, Project, Touching, Wording
from claude_mem.store.sqlite import cards, listing, matching
from claude_mem.store.sqlite.queries import execute
from claude_mem.store.sqlite.readers import Readers
from claude_mem.store.sqlite.wordbook import placed

SIZES_HOLD = 0.02
"""A span is counted again when the index has grown by this part of it."""
LOOKED_AT = 5_000
"""Memories of files of one name that are looked at: `__init__.py` may have a hundred thousand."""
BESIDE = 2_000
"""Of those in a folder, which say less."""


class SqliteLibrary:
    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._sizes: dict[tuple[int, int], tuple[int, int]] = {}
        self._frequent = matching.Frequent()

    def match(self, wording: Wording, within: tuple[int, int] | None) -> Matches:
        with self._readers.read() as db:
            everything = matching.size_of_all(db)
            sizes = matching.Sizes(self._size(db, within, everything) if within else everything, everything)
            return Matches(sizes.span, tuple(matching.match(db, wording, within, sizes, self._frequent)))

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
        pinned: bool = False,
        after: Place | None = None,
    ) -> list[Card]:
        with self._readers.read() as db:
            chosen = listing.listed(db, filters, listing.Manner(limit, offset, newest_first, pinned, after))
            by_ref = {card.ref: card for card in cards.cards(db, chosen)}
        return [by_ref[ref] for ref in chosen if ref in by_ref]

    def count(self, filters: Filters, *, pinned: bool = False) -> int:
        with self._readers.read() as db:
            return listing.count(db, filters, pinned=pinned)

    def last_ids(self) -> dict[MemoryKind, int]:
        with self._readers.read() as db:
            return {kind: int(execute(db, f"last_{kind}").fetchone()[0]) for kind in KINDS}

    def touching(self, path: str, project_id: int | None, limit: int) -> list[Touching]:
        first, last = span(project_id) if project_id is not None else matching.EVERYWHERE
        with self._readers.read() as db:
            _, base = placed(path)
            named = execute(db, "files_named", base=base, first=first, last=last, limit=LOOKED_AT)
            how = {row["spot"]: row["how"] for row in named if _is_same(path, row["path"])}
            found = [
                Touching(card, how[spot(card.project_id, card.session_db_id, card.ref)])
                for card in cards.cards(db, [ref_at(place) for place in how])
            ]
        found.sort(key=lambda each: (each.card.created_at, each.card.ref.id), reverse=True)
        return found[:limit]

    def beside(self, folder: str, project_id: int | None) -> list[tuple[int, str]]:
        first, last = span(project_id) if project_id is not None else matching.EVERYWHERE
        folder, _ = placed(f"{folder}/x")
        with self._readers.read() as db:
            found = execute(db, "files_under", folder=folder, first=first, last=last, limit=BESIDE)
            return [(row["spot"], row["path"]) for row in found]

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


def _is_same(asked: str, stored: str) -> bool:
    """One is the end of the other: a file is asked for by a whole path and remembered by a short one, or the
    other way round."""
    asked, stored = (f"/{path.replace(chr(92), '/').strip('/').lower()}" for path in (asked, stored))
    return asked.endswith(stored) or stored.endswith(asked)
