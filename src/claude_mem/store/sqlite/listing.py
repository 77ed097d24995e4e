"""Which memories a list has, by time: put together of `conditions.sql`, however far into it somebody is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from claude_mem.model.refs import KINDS, Filters, MemoryKind, Ref
from claude_mem.ports.library import Place
from claude_mem.store.sqlite.about import about
from claude_mem.store.sqlite.queries import conditions, queries

_ORDER: tuple[MemoryKind, ...] = ("prompt", "evidence", "observation", "summary")
"""At one moment: what was asked, what was done, what was understood of it, what it came to."""


Named = Mapping[MemoryKind, frozenset[int]]
"""Memories by their ids."""


@dataclass(frozen=True, slots=True)
class Manner:
    limit: int
    offset: int = 0
    newest_first: bool = True
    after: Place | None = None


def listed(db: sqlite3.Connection, filters: Filters, manner: Manner, among: Named | None = None) -> list[Ref]:
    """`among`: of these alone."""
    kinds = filters.kinds or KINDS
    meant = named(db, filters, among)
    if len(kinds) == 1:
        return [Ref(kinds[0], id) for _, id in _dated(db, kinds[0], filters, manner, meant)]
    found: list[tuple[int, int, int]] = []
    whole = replace(manner, limit=manner.limit + manner.offset, offset=0)
    for kind in kinds:
        found += [(at, _ORDER.index(kind), id) for at, id in _dated(db, kind, filters, whole, meant)]
    found.sort(reverse=manner.newest_first)
    page = found[manner.offset : manner.offset + manner.limit]
    return [Ref(_ORDER[kind], id) for _, kind, id in page]


def count(db: sqlite3.Connection, filters: Filters) -> int:
    meant = named(db, filters)
    return sum(_count(db, kind, filters, meant) for kind in filters.kinds or KINDS if can_be(kind, filters))


def named(db: sqlite3.Connection, filters: Filters, among: Named | None = None) -> Named | None:
    """What was done to the file that is asked about (that somebody spoke of it does not count), of `among`;
    None: nothing is named."""
    if filters.file is None:
        return among
    found = by_kind(ref for ref, how in about(db, filters.file, filters.project_id) if how != "named")
    return (
        found if among is None else {kind: among.get(kind, frozenset()) & ids for kind, ids in found.items()}
    )


def by_kind(refs: Iterable[Ref]) -> Named:
    ids: dict[MemoryKind, set[int]] = {}
    for ref in refs:
        ids.setdefault(ref.kind, set()).add(ref.id)
    return {kind: frozenset(some) for kind, some in ids.items()}


def passing(
    db: sqlite3.Connection, kind: MemoryKind, filters: Filters, meant: Named | None, limit: int
) -> list[tuple[int, int, int]]:
    """No more than `limit`, in no order: a memory's id, its session's, its project's."""
    wanted = _wanted(kind, filters, meant)
    parts = [queries()[f"spots_{kind}"].rstrip(";"), *_where(wanted), conditions()["no_more"]]
    rows = db.execute(" ".join(parts), _given(kind, filters, meant) | {"limit": limit}).fetchall()
    return [(row["id"], row["session_id"], row["project_id"]) for row in rows]


def _count(db: sqlite3.Connection, kind: MemoryKind, filters: Filters, meant: Named | None) -> int:
    wanted = _wanted(kind, filters, meant)
    statement = " ".join([queries()[f"count_{kind}"].rstrip(";"), *_where(wanted)])
    (found,) = db.execute(statement, _given(kind, filters, meant)).fetchone()
    return int(found)


def _dated(
    db: sqlite3.Connection,
    kind: MemoryKind,
    filters: Filters,
    manner: Manner,
    meant: Named | None,
) -> list[tuple[int, int]]:
    """When, and which."""
    if not can_be(kind, filters):
        return []
    filters, beside = _from_there(kind, filters, manner)
    order = conditions()["newest_first" if manner.newest_first else "oldest_first"]
    wanted = [*_wanted(kind, filters, meant), *beside]
    statement = " ".join([queries()[f"list_{kind}"].rstrip(";"), *_where(wanted), order])
    place = manner.after
    given = _given(kind, filters, meant) | {
        "limit": manner.limit,
        "offset": manner.offset,
        "place_at": place.at if place else None,
        "place_id": place.ref.id if place else None,
    }
    return [(row["created_at_epoch"], row["id"]) for row in db.execute(statement, given)]


def can_be(kind: MemoryKind, filters: Filters) -> bool:
    """Only observations have types and concepts, are superseded, wrong or pinned."""
    theirs = filters.types or filters.concepts or filters.superseded or filters.wrong or filters.pinned
    return kind == "observation" or not theirs


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


def _wanted(kind: MemoryKind, filters: Filters, meant: Named | None) -> list[str]:
    is_observation = kind == "observation"
    own = "own_" if is_observation else ""
    # They leave a few, wherever in the project those are; going by the project's time would pass all of it.
    few = filters.session is not None or meant is not None or bool(filters.wrong) or filters.pinned
    besides, of_project = few and is_observation, filters.project_id is not None
    return [
        name
        for name, asked in (
            (f"where_{own}project", of_project and not besides),
            ("where_besides", of_project and besides),
            ("where_session", filters.session is not None),
            ("where_since", filters.since is not None),
            ("where_until", filters.until is not None),
            ("where_type", len(filters.types) == 1 and not few),
            ("where_types", len(filters.types) > 1 or (bool(filters.types) and few)),
            ("where_concepts", bool(filters.concepts)),
            ("where_about", meant is not None),
            (f"where_{own or ('own_' if kind == 'evidence' else '')}branch", filters.branch is not None),
            (f"where_{own}client", filters.client is not None),
            ("where_superseded", is_observation and filters.superseded is True),
            ("where_standing", is_observation and filters.superseded is False),
            ("where_wrong", is_observation and filters.wrong is True),
            ("where_right", is_observation and filters.wrong is False),
            ("where_pinned", filters.pinned),
        )
        if asked
    ]


def _given(kind: MemoryKind, filters: Filters, meant: Named | None) -> dict[str, object]:
    return {
        "project_id": filters.project_id,
        "session": filters.session,
        "since": filters.since,
        "until": filters.until,
        "type": next(iter(filters.types), None),
        "types": json.dumps(filters.types),
        "concepts": json.dumps(filters.concepts),
        "about": json.dumps(list((meant or {}).get(kind, ()))),
        "branch": filters.branch,
        "client": filters.client,
    }


def _where(names: list[str]) -> list[str]:
    return [f"WHERE {' AND '.join(conditions()[name] for name in names)}"] if names else []
