"""The built-in vectors, in the same file as the rows they are made of; and how far any backend's vectors are.

The second is true also of a backend that keeps its vectors elsewhere. A mark for each kind says up to which
id there are vectors (ids only grow). What was forgotten is noted in the transaction that forgot it, until the
backend has forgotten it too, however long it is out of reach.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from claude_mem.model.refs import MemoryKind, Ref, memory_key, ref_at, session_at, span
from claude_mem.store.sqlite.connection import Part, execute, queries, transaction
from claude_mem.store.sqlite.rows import Value, batches
from claude_mem.store.sqlite.text_index import derived, last_id
from claude_mem.store.values import Unembedded

EMBEDDED: tuple[MemoryKind, ...] = ("observation", "summary", "prompt")
"""Not evidence: it is verbatim, and there is much of it; full text finds it."""

SHARES: dict[MemoryKind, int] = {"observation": 2, "summary": 4, "prompt": 4}
"""Of what may be read of all projects: a half, a fourth and a fourth."""

REMOVED_AT_ONCE = 5_000


class VectorTable(Part):
    @transaction
    def put(self, db: sqlite3.Connection, blobs: Mapping[int, bytes]) -> list[int]:
        stored = []
        for key, blob in blobs.items():
            ref, session_id = ref_at(key), session_at(key)
            row = {
                "memory_key": key,
                "vector": blob,
                "kind": ref.kind,
                "id": ref.id,
                "session_id": session_id,
            }
            if db.execute(queries()["keep_vector"], row).rowcount > 0:
                stored.append(key)
        return stored

    def remove(self, memory_keys: Sequence[int]) -> None:
        self._change("remove_vectors", memory_keys=json.dumps(list(memory_keys)))

    def blobs(self, memory_keys: Sequence[int]) -> dict[int, bytes]:
        found = self._rows("vectors_at", memory_keys=json.dumps(list(memory_keys)))
        return {row["memory_key"]: row["vector"] for row in found}

    def existing(self, memory_keys: Sequence[int]) -> set[int]:
        return {row[0] for row in self._rows("vectors_there", memory_keys=json.dumps(list(memory_keys)))}

    def newest(
        self, within: tuple[int, int] | None, limit: int, at_once: int
    ) -> Iterator[list[tuple[int, bytes]]]:
        with self._readers.read() as db:
            for first, last in _recent(db, limit) if within is None else [within]:
                found = execute(db, "newest_vectors", first=first, last=last, limit=limit)
                while rows := found.fetchmany(at_once):
                    yield [(row["memory_key"], row["vector"]) for row in rows]

    def count(self) -> int:
        return self._number("count_vectors")

    def clear(self) -> None:
        """Not in one transaction: those who write meanwhile do not wait for it."""
        while self._change("remove_some_vectors", limit=REMOVED_AT_ONCE):
            pass


def _recent(db: sqlite3.Connection, limit: int) -> list[tuple[int, int]]:
    """Where each project's memories of the last sessions lie: of so many sessions that all of them together
    are not more than `limit`. Keys go by project first, so the last of all are nowhere side by side."""
    since = max(_session_of(db, kind, limit // share) for kind, share in SHARES.items())
    begin = Ref("observation", 0)
    projects = [row["id"] for row in execute(db, "all_projects")]
    return [(memory_key(project_id, since, begin), span(project_id)[1]) for project_id in projects]


def _session_of(db: sqlite3.Connection, kind: MemoryKind, last: int) -> int:
    """In which session the last so many of a kind begin."""
    newest = last_id(db, kind)
    if newest < last:
        return 0
    row = execute(db, f"session_of_{kind}", id=newest - last + 1).fetchone()
    return 0 if row is None else int(row["session_id"])


MOST_CHARACTERS = 4_000
"""Of one memory's longest text: more than any embedder reads."""

FORGOTTEN_AT_ONCE = 1_000

BUILTIN = "builtin"
"""With what the name of the one begins whose vectors lie in this file."""


FOLLOWED = "followed_vectors"
"""Changes with every memory that was given to another session."""


class EmbeddingProgress(Part):
    _read_at: str | None = None

    def made(self) -> tuple[str, str] | None:
        with self._readers.read() as db:
            maker, stamp = derived(db, "vectors_made_by"), derived(db, "vectors_stamp")
        return None if maker is None or stamp is None else (maker, stamp)

    def begin(self, maker: str) -> str:
        """From the first memory on, under a new stamp, with the vectors of before gone from this file.
        In this order: killed on the way, it is begun once more."""
        stamp = secrets.token_hex(8)
        self._change("forget_vector_notes")
        VectorTable(self._readers, self._writer, self._clock).clear()
        self._record(maker, stamp)
        return stamp

    @transaction
    def _record(self, db: sqlite3.Connection, maker: str, stamp: str) -> None:
        execute(db, "set_derived", name="vectors_made_by", value=maker)
        execute(db, "set_derived", name="vectors_stamp", value=stamp)

    def unembedded(self, limit: int) -> Unembedded | None:
        with self._readers.read() as db:
            self._read_at = derived(db, FOLLOWED)
            some: dict[str, Value] = {"most": MOST_CHARACTERS, "limit": limit}
            if rows := execute(db, "embedded_anew", **some).fetchall():
                texts = _texts("observation", (row for row in rows if row["id"] is not None))
                return Unembedded(texts, {}, {row["name"]: row["value"] for row in rows})
            for kind in EMBEDDED:
                rows = execute(db, f"unembedded_{kind}", **some, after=_mark(db, kind)).fetchall()
                if rows:
                    return Unembedded(_texts(kind, rows), {kind: rows[-1]["id"]})
        return None

    @transaction
    def embedded(
        self, db: sqlite3.Connection, marks: Mapping[MemoryKind, int], again: Mapping[str, str]
    ) -> None:
        _advance(db, marks if derived(db, FOLLOWED) == self._read_at else {})
        for name, value in again.items():
            execute(db, "settle_again", name=name, value=value)

    def waiting(self, maker: str) -> int:
        with self._readers.read() as db:
            if derived(db, "vectors_made_by") != maker:
                return sum(last_id(db, kind) for kind in EMBEDDED)
            return unembedded_count(db)

    def forgotten(self) -> tuple[str, list[int]] | None:
        note = self._row("forgotten_vectors")
        return None if note is None else (note["name"], json.loads(note["value"]))

    def settle(self, note: str) -> None:
        self._change("forget_derived", name=note)


def unembedded_count(db: sqlite3.Connection) -> int:
    return sum(max(0, last_id(db, kind) - _mark(db, kind)) for kind in EMBEDDED)


def make_again(db: sqlite3.Connection, ref: Ref) -> None:
    """In the transaction that changes a memory's words. Its old vector stands until the new one is made."""
    if ref.id <= _mark(db, ref.kind):
        execute(db, "set_derived", name=f"vectors_again_{ref.id}", value=secrets.token_hex(8))


def take_out(db: sqlite3.Connection, memory_keys: Sequence[int]) -> int:
    """In the transaction that forgets memories: ours are gone with it, and counted; other backends' are
    noted."""
    removed = 0
    for some in batches(memory_keys, FORGOTTEN_AT_ONCE):
        removed += execute(db, "remove_vectors", memory_keys=json.dumps(some)).rowcount
        execute(db, "set_derived", name=f"vectors_forgotten_{some[0]}", value=json.dumps(some))
    return removed


def move(db: sqlite3.Connection, refs: Sequence[Ref], session_id: int, gone: int, into: int) -> None:
    """In the transaction that gives a session's memories to another project. Ours are given another key,
    under a new stamp, so that nobody goes on with what was read before; another backend makes them anew."""
    moved = [ref for ref in refs if ref.kind in EMBEDDED]
    try:
        begin = Ref(EMBEDDED[0], 0)
        first = memory_key(gone, session_id, begin)
        by = memory_key(into, session_id, begin) - first
        last = memory_key(gone, session_id + 1, begin) - 1
    except OverflowError:
        return  # the indexes have no place for them; a vector that is left behind finds what it is of
    if (derived(db, "vectors_made_by") or BUILTIN).startswith(BUILTIN):
        execute(db, "move_vectors", by=by, first=first, last=last)
        if derived(db, "vectors_stamp") is not None:
            execute(db, "set_derived", name="vectors_stamp", value=secrets.token_hex(8))
        return
    take_out(db, [memory_key(gone, session_id, ref) for ref in moved])
    for kind in EMBEDDED:
        oldest = min((ref.id for ref in moved if ref.kind == kind), default=None)
        if oldest is not None and oldest <= _mark(db, kind):
            _advance(db, {kind: oldest - 1})


def follow(db: sqlite3.Connection, ref: Ref, project_id: int, before: int) -> None:
    """In the transaction that gave one memory to another session than `before`. What is being made of it at
    that moment is not kept, and made once more."""
    row = execute(db, f"session_of_{ref.kind}", id=ref.id).fetchone()
    try:
        old, new = memory_key(project_id, before, ref), memory_key(project_id, row["session_id"], ref)
    except OverflowError:
        return
    execute(db, "set_derived", name=FOLLOWED, value=secrets.token_hex(8))
    if (derived(db, "vectors_made_by") or BUILTIN).startswith(BUILTIN):
        if execute(db, "move_vectors", by=new - old, first=old, last=old).rowcount:
            execute(db, "set_derived", name="vectors_stamp", value=secrets.token_hex(8))
    elif ref.id <= _mark(db, ref.kind):
        take_out(db, [old])
        _advance(db, {ref.kind: ref.id - 1})


def _texts(kind: MemoryKind, rows: Iterable[sqlite3.Row]) -> list[tuple[int, str]]:
    found = []
    for row in rows:
        words = _words(kind, row)
        with suppress(OverflowError):  # the indexes have no place for it
            if words and row["project_id"] is not None:
                found.append((memory_key(row["project_id"], row["session_id"], Ref(kind, row["id"])), words))
    return found


def _advance(db: sqlite3.Connection, marks: Mapping[MemoryKind, int]) -> None:
    for kind, upto in marks.items():
        execute(db, "set_derived", name=f"vectors_upto_{kind}", value=str(upto))


def _words(kind: MemoryKind, row: sqlite3.Row) -> str:
    """What it is about, the most telling first: embedders read only so far."""
    if kind == "prompt":
        parts = [row["prompt"]]
    elif kind == "summary":
        parts = [row["request"], row["learned"], row["completed"], row["next_steps"]]
    else:
        parts = [row["title"], row["subtitle"], row["words"], *json.loads(row["facts"])]
    return "\n".join(part.strip() for part in parts if part and part.strip())


def _mark(db: sqlite3.Connection, kind: MemoryKind) -> int:
    return int(derived(db, f"vectors_upto_{kind}") or 0)
