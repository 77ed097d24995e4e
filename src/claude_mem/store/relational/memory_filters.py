"""Decides which memories pass the filters: for lists, by time, and for searches, which rank only these.

If few memories of a kind pass, they are all listed using an index. If many do, or no index helps, each
candidate of a search is looked up once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache

from msgspec import Struct

from claude_mem.model.refs import (
    KINDS,
    Filters,
    MemoryKind,
    Ref,
    id_at,
    is_glob,
    is_of_file,
    keys_by_kind,
    plain_path,
    ref_at,
)
from claude_mem.model.structs import replace
from claude_mem.store.relational.part import Connection, Readers, execute, tuples
from claude_mem.store.relational.rows import columns
from claude_mem.store.relational.text_document import LONGEST_FOLDER, split_path
from claude_mem.store.values import ListPosition

_ALL = 2**62


def memories_of_file(db: Connection, file: str, project_id: int | None) -> Iterator[tuple[Ref, str]]:
    """The memories about a file, with their relation to it, once for each file that matches a path, folder or
    glob. Uses the index of files, which must be up to date."""
    return ((ref_at(key), how) for key, how in _matching_keys(db, file, project_id))


def _matching_keys(db: Connection, file: str, project_id: int | None) -> Iterator[tuple[int, str]]:
    """Reads the keys lazily."""
    first, last = db.span(project_id)
    base, within = split_path(file)[1], f"/{plain_path(file)}"
    if is_glob(file):
        found = execute(db, "all_files", first=first, last=last)
    elif within.endswith("/"):
        folders = (row["folder"] for row in execute(db, "all_folders"))
        # A folder is stored without its beginning if it is long. A memory may be of the folder itself.
        some = [each for each in folders if within in f"/{plain_path(each)}/" or len(each) >= LONGEST_FOLDER]
        found = execute(db, "files_in", folders=json.dumps(some), base=base, first=first, last=last)
    else:
        found = execute(db, "files_named", base=base, first=first, last=last, limit=_ALL)
    matches = _file_matcher(file)
    return ((key, how) for key, path, how in found if matches(path))


def _file_matcher(file: str) -> Callable[[str], bool]:
    return cache(lambda path: is_of_file(path, file))  # there are far fewer files than memories of them


def keys_of_file(db: Connection, path: str, project_id: int | None) -> Iterator[tuple[int, str]]:
    """The keys of the memories of one file, the newest of each kind and project first, and how each is about
    it. Read lazily."""
    first, last = db.span(project_id)
    rows = execute(db, "files_named", base=split_path(path)[1], first=first, last=last, limit=_ALL)
    matches = cache(lambda stored: _is_same(path, stored))
    return ((row["memory_key"], row["how"]) for row in rows if matches(row["path"]))


def _is_same(given: str, stored: str) -> bool:
    """Whether one path is the end of the other: a file may be queried by an absolute path and stored with a
    short one, or vice versa."""
    given, stored = (f"/{path.replace(chr(92), '/').strip('/').lower()}" for path in (given, stored))
    return given.endswith(stored) or stored.endswith(given)


_ORDER: tuple[MemoryKind, ...] = ("prompt", "evidence", "observation", "summary")
"""The order at one moment: prompt, evidence, observation, summary."""


RefsByKind = Mapping[MemoryKind, frozenset[int]]
"""Memories by their ids."""


class ListOptions(Struct, frozen=True):
    limit: int
    offset: int = 0
    newest_first: bool = True
    after: ListPosition | None = None


def list_refs(
    db: Connection, filters: Filters, options: ListOptions, within: RefsByKind | None = None
) -> list[Ref]:
    """`within`: of these alone."""
    kinds = filters.kinds or KINDS
    refs = refs_of_file(db, filters, within)
    if len(kinds) == 1:
        return [Ref(kinds[0], id) for _, id in _dated(db, kinds[0], filters, options, refs)]
    found: list[tuple[int, int, int]] = []
    unpaged = replace(options, limit=options.limit + options.offset, offset=0)
    for kind in kinds:
        found += [(at, _ORDER.index(kind), id) for at, id in _dated(db, kind, filters, unpaged, refs)]
    found.sort(reverse=options.newest_first)
    page = found[options.offset : options.offset + options.limit]
    return [Ref(_ORDER[kind], id) for _, kind, id in page]


def count_memories(db: Connection, filters: Filters) -> int:
    refs = refs_of_file(db, filters)
    return sum(_count(db, kind, filters, refs) for kind in filters.kinds or KINDS if can_be(kind, filters))


def refs_of_file(db: Connection, filters: Filters, within: RefsByKind | None = None) -> RefsByKind | None:
    """What was done to the file that is queried (a mere mention does not count), of `within`;
    None: nothing is named."""
    if filters.file is None:
        return within
    memories = memories_of_file(db, filters.file, filters.project_id)
    found = by_kind(ref for ref, how in memories if how != "named")
    if within is None:
        return found
    return {kind: within.get(kind, frozenset()) & ids for kind, ids in found.items()}


def by_kind(refs: Iterable[Ref]) -> RefsByKind:
    ids: dict[MemoryKind, set[int]] = {}
    for ref in refs:
        ids.setdefault(ref.kind, set()).add(ref.id)
    return {kind: frozenset(some) for kind, some in ids.items()}


def passing_rows(
    db: Connection, kind: MemoryKind, filters: Filters, refs: RefsByKind | None, limit: int
) -> list[tuple[int, int, int]]:
    """No more than `limit`, in no order: a memory's id, its session's, its project's."""
    statement = _statement(db, "keys", kind, _condition_names(kind, filters, refs), "no_more")
    found: list[tuple[int, int, int]]
    found = db.tuples(statement, _parameters(kind, filters, refs) | {"limit": limit})
    return found


def _count(db: Connection, kind: MemoryKind, filters: Filters, refs: RefsByKind | None) -> int:
    statement = _statement(db, "count", kind, _condition_names(kind, filters, refs))
    return int(db.run(statement, _parameters(kind, filters, refs)).fetchone()[0])


def _dated(
    db: Connection,
    kind: MemoryKind,
    filters: Filters,
    options: ListOptions,
    refs: RefsByKind | None,
) -> list[tuple[int, int]]:
    """A memory's time and reference."""
    if not can_be(kind, filters):
        return []
    filters, more_conditions = _after_position(kind, filters, options)
    order = "newest_first" if options.newest_first else "oldest_first"
    statement = _statement(
        db, "list", kind, [*_condition_names(kind, filters, refs), *more_conditions], order
    )
    parameters = _parameters(kind, filters, refs) | {"limit": options.limit, "offset": options.offset}
    if options.after is not None:
        parameters |= {"place_at": options.after.at, "place_id": options.after.ref.id}
    return [(row["created_at_epoch"], row["id"]) for row in db.run(statement, parameters)]


def can_be(kind: MemoryKind, filters: Filters) -> bool:
    """Only observations have types and concepts, are superseded, wrong or pinned."""
    only_of_observations = (
        filters.types or filters.concepts or filters.superseded or filters.wrong or filters.pinned
    )
    return kind == "observation" or not only_of_observations


def _after_position(kind: MemoryKind, filters: Filters, options: ListOptions) -> tuple[Filters, list[str]]:
    """What follows a position: rows of the same kind by id, others by time and the order of kinds."""
    position = options.after
    if position is None:
        return filters, []
    if position.ref.kind == kind:
        return filters, ["where_earlier" if options.newest_first else "where_later"]
    rank, position_rank = _ORDER.index(kind), _ORDER.index(position.ref.kind)
    if options.newest_first:
        until = position.at + (rank < position_rank)
        return replace(filters, until=until if filters.until is None else min(until, filters.until)), []
    since = position.at + (rank < position_rank)
    return replace(filters, since=since if filters.since is None else max(since, filters.since)), []


def _condition_names(kind: MemoryKind, filters: Filters, refs: RefsByKind | None) -> list[str]:
    """The names of conditions; a kind may have one of its own (`where_branch_evidence`)."""
    is_observation = kind == "observation"
    # Few rows of the project pass, so reading along an index by time would read all of its rows.
    is_selective = filters.session is not None or refs is not None or bool(filters.wrong) or filters.pinned
    by_session_or_file, of_project = is_selective and is_observation, filters.project_id is not None
    return [
        name
        for name, applies in (
            ("where_project_id", of_project and not by_session_or_file),
            ("where_besides", of_project and by_session_or_file),
            ("where_session", filters.session is not None),
            ("where_since", filters.since is not None),
            ("where_until", filters.until is not None),
            ("where_type", len(filters.types) == 1 and not is_selective),
            ("where_types", len(filters.types) > 1 or (bool(filters.types) and is_selective)),
            ("where_concepts", bool(filters.concepts)),
            ("where_about", refs is not None),
            *((f"where_{name}", True) for name in filters.equal),
            ("where_authors", bool(filters.authors)),
            ("where_superseded", is_observation and filters.superseded is True),
            ("where_current", is_observation and filters.superseded is False),
            ("where_wrong", is_observation and filters.wrong is True),
            ("where_right", is_observation and filters.wrong is False),
            ("where_pinned", filters.pinned),
        )
        if applies
    ]


def _parameters(kind: MemoryKind, filters: Filters, refs: RefsByKind | None) -> dict[str, object]:
    about = json.dumps(list((refs or {}).get(kind, ())))
    return columns(filters) | dict(filters.equal) | {"type": next(iter(filters.types), None), "about": about}


def _statement(db: Connection, what: str, kind: MemoryKind, names: list[str], end: str | None = None) -> str:
    """Builds a statement from the parts in `conditions.sql`."""
    conditions = [db.conditions.get(f"{name}_{kind}") or db.conditions[name] for name in names]
    where = [f"WHERE {' AND '.join(conditions)}"] if names else []
    return " ".join(
        [db.queries[f"{what}_{kind}"].rstrip(";"), *where, *([db.conditions[end]] if end else [])]
    )


MOST_LISTED = 1_000
MANY_WRONG = 1_000
"""If fewer memories are marked wrong, a search skips them as it finds them."""


class _Listed(Struct, frozen=True):
    memory_keys: frozenset[int] = frozenset()
    pass_: bool = True  # False: all others do


class KeyFilter:
    """Decides which of a search's candidates pass the filters."""

    def __init__(self, readers: Readers, filters: Filters) -> None:
        self._readers, self._filters = readers, filters
        self._looked_up: set[int] = set()
        self._passing: set[int] = set()
        # The project is in a key. Asked of the rows as well, it would lead past all of the project's.
        self._whichever = replace(filters, project_id=None)
        self._file_matcher = _file_matcher(filters.file or "")
        self._of: dict[MemoryKind, _Listed | None] = {}
        with readers.read() as db:
            self._named = self._few_of_file(db)
            for kind in KINDS:
                self._of[kind] = self._listed(db, kind)

    def _few_of_file(self, db: Connection) -> RefsByKind | None:
        """None: no file is named, or more memories are of it than are listed."""
        if self._filters.file is None:
            return None
        matching = _matching_keys(db, self._filters.file, self._filters.project_id)
        keys: set[int] = set()
        for key, how in matching:
            if how != "named":
                keys.add(key)
                if len(keys) > MOST_LISTED:
                    return None
        return {kind: frozenset(map(id_at, some)) for kind, some in keys_by_kind(keys).items()}

    @property
    def listed(self) -> frozenset[int] | None:
        """All that pass but for evidence, if they are few."""
        understood = [listed for kind, listed in self._of.items() if kind != "evidence"]
        memory_keys = [listed.memory_keys for listed in understood if listed is not None and listed.pass_]
        return frozenset().union(*memory_keys) if len(memory_keys) == len(understood) else None

    def __call__(self, memory_keys: Iterable[int]) -> set[int]:
        """The candidates that pass."""
        passed: set[int] = set()
        for kind, keys in keys_by_kind(memory_keys).items():
            listed = self._of[kind]
            if listed is None:
                self._look_up(kind, keys - self._looked_up)
                passed |= keys & self._passing
            else:
                passed |= keys & listed.memory_keys if listed.pass_ else keys - listed.memory_keys
        return passed

    def _listed(self, db: Connection, kind: MemoryKind) -> _Listed | None:
        """None: they are to be looked up."""
        filters = self._filters
        if kind not in (filters.kinds or KINDS) or not can_be(kind, filters):
            return _Listed()
        remaining = replace(filters, project_id=None, kinds=())
        if kind != "observation":
            remaining = replace(remaining, superseded=None, wrong=None)
        if remaining == Filters():
            return _Listed(pass_=False)
        if remaining == Filters(wrong=False):
            return self._listed_up_to(db, kind, replace(filters, wrong=True), pass_=False)
        is_many = None in self._of.values() or (filters.file is not None and self._named is None)
        if is_many or (kind == "evidence" and filters.session is None and filters.file is None):
            return None  # no index of evidence is by time or branch, and the rows are long
        return self._listed_up_to(db, kind, filters, pass_=True)

    def _listed_up_to(
        self, db: Connection, kind: MemoryKind, filters: Filters, *, pass_: bool
    ) -> _Listed | None:
        narrowed = filters if self._named is None else replace(filters, project_id=None)
        found = passing_rows(db, kind, narrowed, self._named, MOST_LISTED + 1)
        return None if len(found) > MOST_LISTED else _Listed(_keys(db, kind, found), pass_)

    def _look_up(self, kind: MemoryKind, keys: set[int]) -> None:
        self._looked_up |= keys
        with self._readers.read() as db:
            if self._filters.file is not None:
                # Observations and summaries only list files that were touched, so the index is sufficient.
                query = "files_about" if kind in ("observation", "summary") else "files_touched"
                files = tuples(db, query, memory_keys=json.dumps(list(keys)))
                keys = {key for key, path in files if self._file_matcher(path)}
            by_id = {id_at(key): key for key in keys}
            found = passing_rows(db, kind, self._whichever, {kind: frozenset(by_id)}, len(by_id))
        self._passing.update(by_id[id] for id, _, _ in found)


def _keys(db: Connection, kind: MemoryKind, found: Iterable[tuple[int, int, int | None]]) -> frozenset[int]:
    memory_keys = set()
    for id, session_id, project_id in found:
        with suppress(OverflowError):  # it does not fit into a key, so it is not indexed
            if project_id is not None:
                memory_keys.add(db.key(project_id, session_id, Ref(kind, id)))
    return frozenset(memory_keys)
