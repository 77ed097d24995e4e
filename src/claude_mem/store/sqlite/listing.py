"""Which memories a list has, by time: put together of `conditions.sql`, however far into it somebody is."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, replace

from claude_mem.model.recall import KINDS, Filters, MemoryKind, Ref
from claude_mem.ports.library import Place
from claude_mem.store.sqlite.about import about
from claude_mem.store.sqlite.queries import conditions, queries

_ORDER: tuple[MemoryKind, ...] = ("prompt", "evidence", "observation", "summary")
"""At one moment: what was asked, what was done, what was understood of it, what it came to."""


@dataclass(frozen=True, slots=True)
class Manner:
    limit: int
    offset: int = 0
    newest_first: bool = True
    pinned: bool = False
    after: Place | None = None


def listed(db: sqlite3.Connection, filters: Filters, manner: Manner) -> list[Ref]:
    kinds = filters.kinds or KINDS
    named = _named(db, filters)
    if len(kinds) == 1:
        return [Ref(kinds[0], id) for _, id in _dated(db, kinds[0], filters, manner, named)]
    found: list[tuple[int, int, int]] = []
    whole = replace(manner, limit=manner.limit + manner.offset, offset=0)
    for kind in kinds:
        found += [(at, _ORDER.index(kind), id) for at, id in _dated(db, kind, filters, whole, named)]
    found.sort(reverse=manner.newest_first)
    page = found[manner.offset : manner.offset + manner.limit]
    return [Ref(_ORDER[kind], id) for _, kind, id in page]


def count(db: sqlite3.Connection, filters: Filters, *, pinned: bool = False) -> int:
    named = _named(db, filters)
    return sum(
        _count(db, kind, filters, pinned, named)
        for kind in filters.kinds or KINDS
        if _can_be(kind, filters, pinned=pinned)
    )


def _named(db: sqlite3.Connection, filters: Filters) -> frozenset[Ref]:
    """What was done to the file that is asked about; that somebody spoke of it does not count."""
    if filters.file is None:
        return frozenset()
    return frozenset(ref for ref, how in about(db, filters.file, filters.project_id) if how != "named")


def _count(
    db: sqlite3.Connection, kind: MemoryKind, filters: Filters, pinned: bool, named: frozenset[Ref]
) -> int:
    wanted = _wanted(kind, filters, pinned)
    statement = " ".join([queries()[f"count_{kind}"].rstrip(";"), *_where(wanted)])
    (found,) = db.execute(statement, _given(kind, filters, named)).fetchone()
    return int(found)


def _dated(
    db: sqlite3.Connection, kind: MemoryKind, filters: Filters, manner: Manner, named: frozenset[Ref]
) -> list[tuple[int, int]]:
    """When, and which."""
    if not _can_be(kind, filters, pinned=manner.pinned):
        return []
    filters, beside = _from_there(kind, filters, manner)
    order = conditions()["newest_first" if manner.newest_first else "oldest_first"]
    wanted = [*_wanted(kind, filters, manner.pinned), *beside]
    statement = " ".join([queries()[f"list_{kind}"].rstrip(";"), *_where(wanted), order])
    place = manner.after
    given = _given(kind, filters, named) | {
        "limit": manner.limit,
        "offset": manner.offset,
        "place_at": place.at if place else None,
        "place_id": place.ref.id if place else None,
    }
    return [(row["created_at_epoch"], row["id"]) for row in db.execute(statement, given)]


def _can_be(kind: MemoryKind, filters: Filters, *, pinned: bool) -> bool:
    """Only observations have types, are superseded, wrong or pinned."""
    return kind == "observation" or not (filters.types or filters.superseded or filters.wrong or pinned)


def _from_there(kind: MemoryKind, filters: Filters, manner: Manner) -> tuple[Filters, list[str]]:
    """What comes after a place: of its own kind by the row, of the others by time and their order."""
    place = manner.after
    if place is None:
        return filters, []
    if place.ref.kind == kind:
        return filters, ["where_earlier" if manner.newest_first else "where_later"]
    ours, its = _ORDER.index(kind), _ORDER.index(place.ref.kind)
    if manner.newest_first:
        until = place.at + (ours < its)
        return replace(filters, until=until if filters.until is None else min(until, filters.until)), []
    since = place.at + (ours < its)
    return replace(filters, since=since if filters.since is None else max(since, filters.since)), []


def _wanted(kind: MemoryKind, filters: Filters, pinned: bool) -> list[str]:
    is_observation = kind == "observation"
    own = "own_" if is_observation else ""
    # They leave a few, wherever in the project those are; going by the project's time would pass all of it.
    few = filters.session is not None or filters.file is not None or bool(filters.wrong) or pinned
    besides, of_project = few and is_observation, filters.project_id is not None
    return [
        name
        for name, asked in (
            (f"where_{own}project", of_project and not besides),
            ("where_besides", of_project and besides),
            ("where_session", filters.session is not None),
            ("where_since", filters.since is not None),
            ("where_until", filters.until is not None),
            ("where_type", len(filters.types) == 1),
            ("where_types", len(filters.types) > 1),
            ("where_about", filters.file is not None),
            (f"where_{own or ('own_' if kind == 'evidence' else '')}branch", filters.branch is not None),
            (f"where_{own}client", filters.client is not None),
            ("where_superseded", is_observation and filters.superseded is True),
            ("where_standing", is_observation and filters.superseded is False),
            ("where_wrong", is_observation and filters.wrong is True),
            ("where_right", is_observation and filters.wrong is False),
            ("where_pinned", pinned),
        )
        if asked
    ]


def _given(kind: MemoryKind, filters: Filters, named: frozenset[Ref]) -> dict[str, object]:
    return {
        "project_id": filters.project_id,
        "session": filters.session,
        "since": filters.since,
        "until": filters.until,
        "type": next(iter(filters.types), None),
        "types": json.dumps(filters.types),
        "about": json.dumps([ref.id for ref in named if ref.kind == kind]),
        "branch": filters.branch,
        "client": filters.client,
    }


def _where(names: list[str]) -> list[str]:
    return [f"WHERE {' AND '.join(conditions()[name] for name in names)}"] if names else []
