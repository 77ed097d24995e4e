"""The built-in vectors, in the same file as the rows they are made from; and the progress of any backend.

Progress is also tracked for a backend that stores its vectors elsewhere. A mark for each kind shows up to
which id there are vectors (ids only grow). The transaction that deletes a memory records this until the
backend has deleted its vector too, however long the backend is unavailable.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence

from claude_mem.model.refs import MemoryKind, Ref, memory_key, project_at, ref_at, session_at, span
from claude_mem.store.relational import vector_table
from claude_mem.store.relational.part import Connection, derived, execute, last_id, transaction
from claude_mem.store.relational.rows import Value
from claude_mem.store.relational.vector_table import (
    EMBEDDED,
    MOST_CHARACTERS,
    is_builtin,
    renew_stamp,
    texts_of,
)
from claude_mem.store.values import Unembedded

take_out = vector_table.take_out

SHARES: dict[MemoryKind, int] = {"observation": 2, "summary": 4, "prompt": 4}
"""The shares of the kinds when all projects are read."""


class VectorTable(vector_table.VectorTable):
    @transaction
    def put(self, db: Connection, blobs: Mapping[int, bytes]) -> dict[int, int]:
        stored = {}
        for key, blob in blobs.items():
            ref, session_id = ref_at(key), session_at(key)
            row = {
                "memory_key": key,
                "vector": blob,
                "kind": ref.kind,
                "id": ref.id,
                "session_id": session_id,
            }
            if db.run(db.queries["keep_vector"], row).rowcount > 0:
                stored[key] = project_at(key)
        return stored

    def projects(self, memory_keys: Sequence[int]) -> dict[int, int]:
        return {key: project_at(key) for key in memory_keys}

    def newest(self, project_id: int | None, limit: int, at_once: int) -> Iterator[list[tuple[int, bytes]]]:
        with self._readers.read() as db:
            for first, last in _recent(db, limit) if project_id is None else [span(project_id)]:
                found = execute(db, "newest_vectors", first=first, last=last, limit=limit)
                while rows := found.fetchmany(at_once):
                    yield [(row["memory_key"], row["vector"]) for row in rows]


def _recent(db: Connection, limit: int) -> list[tuple[int, int]]:
    """Where each project's memories of the last sessions lie: of so many sessions that all of them together
    are not more than `limit`. Keys go by project first, so the last of all are nowhere side by side."""
    since = max(_session_of(db, kind, limit // share) for kind, share in SHARES.items())
    begin = Ref("observation", 0)
    projects = [row["id"] for row in execute(db, "all_projects")]
    return [(memory_key(project_id, since, begin), span(project_id)[1]) for project_id in projects]


def _session_of(db: Connection, kind: MemoryKind, last: int) -> int:
    """The session in which the last memories of a kind begin, for a given number of memories."""
    newest = last_id(db, kind)
    if newest < last:
        return 0
    row = execute(db, f"session_of_{kind}", id=newest - last + 1).fetchone()
    return 0 if row is None else int(row["session_id"])


FOLLOWED = "followed_vectors"
"""A counter of memories that were moved to another session."""


class EmbeddingProgress(vector_table.EmbeddingProgress):
    _read_at: str | None = None

    def unembedded(self, limit: int) -> Unembedded | None:
        with self._readers.read() as db:
            self._read_at = derived(db, FOLLOWED)
            some: dict[str, Value] = {"most": MOST_CHARACTERS, "limit": limit}
            if rows := execute(db, "embedded_anew", **some).fetchall():
                texts = texts_of("observation", (row for row in rows if row["id"] is not None), db.key)
                return Unembedded(texts, {}, {row["name"]: row["value"] for row in rows})
            for kind in EMBEDDED:
                rows = execute(db, f"unembedded_{kind}", **some, after=_mark(db, kind)).fetchall()
                if rows:
                    return Unembedded(texts_of(kind, rows, db.key), {kind: rows[-1]["id"]})
        return None

    @transaction
    def embedded(self, db: Connection, marks: Mapping[MemoryKind, int], settled: Mapping[str, str]) -> None:
        _advance(db, marks if derived(db, FOLLOWED) == self._read_at else {})
        for name, value in settled.items():
            execute(db, "settle_again", name=name, value=value)


def unembedded_count(db: Connection) -> int:
    return sum(max(0, last_id(db, kind) - _mark(db, kind)) for kind in EMBEDDED)


def make_again(db: Connection, ref: Ref) -> None:
    """In the transaction that changes a memory's words. Its old vector stands until the new one is made."""
    if ref.id <= _mark(db, ref.kind):
        execute(db, "set_derived", name=f"vectors_again_{ref.id}", value=secrets.token_hex(8))


def move(db: Connection, refs: Sequence[Ref], session_id: int, source: int, into: int) -> None:
    """In the transaction that gives a session's memories to another project. Ours are given another key,
    under a new stamp, so that nobody goes on with what was read before; another backend makes them anew."""
    moved = [ref for ref in refs if ref.kind in EMBEDDED]
    try:
        begin = Ref(EMBEDDED[0], 0)
        first = memory_key(source, session_id, begin)
        by = memory_key(into, session_id, begin) - first
        last = memory_key(source, session_id + 1, begin) - 1
    except OverflowError:
        return  # the indexes have no place for them; a vector that is left behind finds what it is of
    if is_builtin(db):
        execute(db, "move_vectors", by=by, first=first, last=last)
        if derived(db, "vectors_stamp") is not None:
            renew_stamp(db)
        return
    take_out(db, [memory_key(source, session_id, ref) for ref in moved])
    for kind in EMBEDDED:
        oldest = min((ref.id for ref in moved if ref.kind == kind), default=None)
        if oldest is not None and oldest <= _mark(db, kind):
            _advance(db, {kind: oldest - 1})


def follow(db: Connection, ref: Ref, project_id: int, before: int) -> None:
    """In the transaction that gave one memory to another session than `before`. What is being made of it at
    that moment is not kept, and made once more."""
    row = execute(db, f"session_of_{ref.kind}", id=ref.id).fetchone()
    try:
        old, new = memory_key(project_id, before, ref), memory_key(project_id, row["session_id"], ref)
    except OverflowError:
        return
    execute(db, "set_derived", name=FOLLOWED, value=secrets.token_hex(8))
    if is_builtin(db):
        if execute(db, "move_vectors", by=new - old, first=old, last=old).rowcount:
            renew_stamp(db)
    elif ref.id <= _mark(db, ref.kind):
        take_out(db, [old])
        _advance(db, {ref.kind: ref.id - 1})


def _advance(db: Connection, marks: Mapping[MemoryKind, int]) -> None:
    for kind, upto in marks.items():
        execute(db, "set_derived", name=f"vectors_upto_{kind}", value=str(upto))


def _mark(db: Connection, kind: MemoryKind) -> int:
    return int(derived(db, f"vectors_upto_{kind}") or 0)
