"""Which memories pass some filters, so that a search ranks, and cuts off, no others.

Where few of a kind pass they are listed at once, along an index. Where many do, or where no index leads to
them, those that a search comes upon are looked up, each once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from claude_mem.model.refs import KINDS, Filters, MemoryKind, Ref, id_at, kind_at, spot
from claude_mem.store.sqlite import listing
from claude_mem.store.sqlite.readers import Readers

FEW = 5_000
MANY_WRONG = 1_000
"""Marked wrong, fewer than a search looks at: those it leaves out as it comes upon them."""
AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class _Listed:
    spots: frozenset[int] = frozenset()
    pass_: bool = True  # False: all others do


class SqlitePassing:
    def __init__(self, readers: Readers, filters: Filters) -> None:
        self._readers, self._filters = readers, filters
        self._known: dict[int, bool] = {}
        # The project is in a spot. Asked of the rows as well, it would lead past all of the project's.
        self._whichever = replace(filters, project_id=None)
        with readers.read() as db:
            self._named = listing.named(db, filters)
            self._of = {kind: self._listed(db, kind) for kind in KINDS}

    @property
    def few(self) -> frozenset[int] | None:
        understood = [listed for kind, listed in self._of.items() if kind != "evidence"]
        spots = [listed.spots for listed in understood if listed is not None and listed.pass_]
        return frozenset().union(*spots) if len(spots) == len(understood) else None

    def __call__(self, spots: Iterable[int]) -> set[int]:
        passed: set[int] = set()
        asked: dict[MemoryKind, list[int]] = {}
        for place in spots:
            listed = self._of[kind := kind_at(place)]
            if listed is None:
                asked.setdefault(kind, []).append(place)
            elif (place in listed.spots) == listed.pass_:
                passed.add(place)
        for kind, places in asked.items():
            self._look_up(kind, [place for place in places if place not in self._known])
            passed.update(place for place in places if self._known[place])
        return passed

    def _listed(self, db: sqlite3.Connection, kind: MemoryKind) -> _Listed | None:
        """None: they are to be looked up."""
        filters = self._filters
        if kind not in (filters.kinds or KINDS) or not listing.can_be(kind, filters):
            return _Listed()
        bare = replace(filters, project_id=None, kinds=())
        if kind != "observation":
            bare = replace(bare, superseded=None, wrong=None)
        if bare == Filters():
            return _Listed(pass_=False)
        if bare == Filters(wrong=False):
            return self._few(db, kind, replace(filters, wrong=True), pass_=False)
        if kind == "evidence" and filters.session is None and filters.file is None:
            return None  # no index goes by time or branch, and the rows are long
        return self._few(db, kind, filters, pass_=True)

    def _few(
        self, db: sqlite3.Connection, kind: MemoryKind, filters: Filters, *, pass_: bool
    ) -> _Listed | None:
        meant = filters if self._named is None else replace(filters, project_id=None)
        found = listing.passing(db, kind, meant, self._named, FEW + 1)
        return None if len(found) > FEW else _Listed(_spots(kind, found), pass_)

    def _look_up(self, kind: MemoryKind, places: list[int]) -> None:
        rest = iter(places)
        while some := list(islice(rest, AT_ONCE)):
            ids = frozenset(map(id_at, some))
            if self._named is not None:
                ids &= self._named.get(kind, frozenset())
            with self._readers.read() as db:
                found = listing.passing(db, kind, self._whichever, {kind: ids}, len(ids))
            passed = {id for id, _, _ in found}
            self._known.update((place, id_at(place) in passed) for place in some)


def _spots(kind: MemoryKind, found: Iterable[tuple[int, int, int | None]]) -> frozenset[int]:
    spots = set()
    for id, session_id, project_id in found:
        with suppress(OverflowError):  # the indexes have no place for it
            if project_id is not None:
                spots.add(spot(project_id, session_id, Ref(kind, id)))
    return frozenset(spots)
