"""The shelf of the built-in vectors: their bytes, in the same file as the rows they are made of."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct, field

from claude_mem.model.refs import MemoryKind, Ref, memory_key, ref_at, session_at, span
from claude_mem.store.sqlite.connection import Readers, Value, Writer, execute, queries
from claude_mem.store.sqlite.text_index import derived, last_id

EMBEDDED: tuple[MemoryKind, ...] = ("observation", "summary", "prompt")
"""Not evidence: it is verbatim, and there is much of it; full text finds it."""

SHARES: dict[MemoryKind, int] = {"observation": 2, "summary": 4, "prompt": 4}
"""Of what may be read of all projects: a half, a fourth and a fourth."""

REMOVED_AT_ONCE = 5_000


class VectorTable:
    """Any thread may call it; any call may block. Raises StoreError."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        self._readers, self._writer = readers, writer

    def put(self, blobs: Mapping[int, bytes]) -> list[int]:
        """Those whose memory exists, in one transaction with the look at it; says which."""
        return self._writer.run(lambda db: [place for place, blob in blobs.items() if _keep(db, place, blob)])

    def remove(self, memory_keys: Sequence[int]) -> None:
        self._writer.run(lambda db: remove(db, memory_keys))

    def blobs(self, memory_keys: Sequence[int]) -> dict[int, bytes]:
        with self._readers.read() as db:
            found = execute(db, "vectors_at", spots=json.dumps(list(memory_keys)))
            return {row["spot"]: row["vector"] for row in found}

    def newest(
        self, within: tuple[int, int] | None, limit: int, at_once: int
    ) -> Iterator[list[tuple[int, bytes]]]:
        """The last of a span, or about as many of the last of all, in lists of at most `at_once`."""
        with self._readers.read() as db:
            for first, last in _recent(db, limit) if within is None else [within]:
                found = execute(db, "newest_vectors", first=first, last=last, limit=limit)
                while rows := found.fetchmany(at_once):
                    yield [(row["spot"], row["vector"]) for row in rows]

    def count(self) -> int:
        with self._readers.read() as db:
            (kept,) = execute(db, "count_vectors").fetchone()
            return int(kept)

    def clear(self) -> None:
        """Not in one transaction: those who write meanwhile do not wait for it."""
        while self._writer.run(lambda db: execute(db, "remove_some_vectors", limit=REMOVED_AT_ONCE).rowcount):
            pass


def remove(db: sqlite3.Connection, memory_keys: Sequence[int]) -> None:
    execute(db, "remove_vectors", spots=json.dumps(list(memory_keys)))


def _keep(db: sqlite3.Connection, place: int, blob: bytes) -> bool:
    ref = ref_at(place)
    row = {"spot": place, "vector": blob, "kind": ref.kind, "id": ref.id, "session_id": session_at(place)}
    return db.execute(queries()["keep_vector"], row).rowcount > 0


def _recent(db: sqlite3.Connection, limit: int) -> list[tuple[int, int]]:
    """Where each project's memories of the last sessions lie: of so many sessions that all of them together
    are not more than `limit`. Spots go by project first, so the last of all are nowhere side by side."""
    since = max(_session_of(db, kind, limit // share) for kind, share in SHARES.items())
    begin = Ref("observation", 0)
    projects = [row["id"] for row in execute(db, "all_projects")]
    return [(memory_key(project_id, since, begin), span(project_id)[1]) for project_id in projects]


def _session_of(db: sqlite3.Connection, kind: MemoryKind, last: int) -> int:
    """In which session the last so many of a kind begin."""
    (newest,) = execute(db, f"last_{kind}").fetchone()
    if newest < last:
        return 0
    row = execute(db, f"session_of_{kind}", id=newest - last + 1).fetchone()
    return 0 if row is None else int(row["session_id"])


# How far the vectors are: what they are of, which memories have none yet, which must go with their memories.
#
# True for every backend, also one that keeps its vectors elsewhere. A mark for each kind says up to which id
# there are vectors (ids only grow). What was forgotten is noted in the transaction that forgot it, until the
# backend has forgotten it too, however long it is out of reach.


MOST_CHARACTERS = 4_000
"""Of one memory's longest text: more than any embedder reads."""

FORGOTTEN_AT_ONCE = 1_000

BUILTIN = "builtin"
"""With what the name of the one begins whose vectors lie in this file."""


FOLLOWED = "followed_vectors"
"""Changes with every memory that was given to another session."""


class Unembedded(Struct, frozen=True):
    texts: list[tuple[int, str]]  # keys, and what to embed
    marks: Mapping[MemoryKind, int]  # how far it is when they are done
    again: Mapping[str, str] = field(default_factory=dict)  # notes that are settled then


class EmbeddingProgress:
    """Any thread may call it; any call may block. Raises StoreError."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        self._readers, self._writer = readers, writer
        self._shelf = VectorTable(readers, writer)
        self._read_at: str | None = None

    def made(self) -> tuple[str, str] | None:
        """Whose vectors there are, and their stamp."""
        with self._readers.read() as db:
            maker, stamp = derived(db, "vectors_made_by"), derived(db, "vectors_stamp")
        return None if maker is None or stamp is None else (maker, stamp)

    def begin(self, maker: str) -> str:
        """From the first memory on, under a new stamp, with the vectors of before gone from this file.
        In this order: killed on the way, it is begun once more."""
        stamp = secrets.token_hex(8)
        self._writer.run(lambda db: execute(db, "forget_vector_notes"))
        self._shelf.clear()
        self._writer.run(lambda db: _record(db, maker, stamp))
        return stamp

    def unembedded(self, limit: int) -> Unembedded | None:
        """Some of those that have none yet, observations first; None: all have."""
        with self._readers.read() as db:
            self._read_at = derived(db, FOLLOWED)
            if again := _again(db, limit):
                return again
            for kind in EMBEDDED:
                after = _mark(db, kind)
                parameters: dict[str, Value] = {"after": after, "limit": limit}
                if kind != "summary":
                    parameters["most"] = MOST_CHARACTERS
                rows = execute(db, f"unembedded_{kind}", **parameters).fetchall()
                if rows:
                    placed = [(_place(kind, row), _words(kind, row)) for row in rows]
                    texts = [(place, words) for place, words in placed if place is not None and words]
                    return Unembedded(texts, {kind: rows[-1]["id"]})
        return None

    def embedded(self, marks: Mapping[MemoryKind, int], again: Mapping[str, str]) -> None:
        self._writer.run(
            lambda db: _settle(db, marks if derived(db, FOLLOWED) == self._read_at else {}, again)
        )

    def waiting(self) -> int:
        """How many memories have no vector (ids may have gaps, so: at most)."""
        with self._readers.read() as db:
            return unembedded_count(db)

    def forgotten(self) -> tuple[str, list[int]] | None:
        """Some of the vectors that must go, and the name of the note that says so."""
        with self._readers.read() as db:
            note = execute(db, "forgotten_vectors").fetchone()
        return None if note is None else (note["name"], json.loads(note["value"]))

    def settle(self, note: str) -> None:
        """Its vectors are gone."""
        self._writer.run(lambda db: execute(db, "forget_derived", name=note))


def unembedded_count(db: sqlite3.Connection) -> int:
    return sum(max(0, last_id(db, kind) - _mark(db, kind)) for kind in EMBEDDED)


def make_again(db: sqlite3.Connection, ref: Ref) -> None:
    """In the transaction that changes a memory's words. Its old vector stands until the new one is made."""
    if ref.id <= _mark(db, ref.kind):
        execute(db, "set_derived", name=f"vectors_again_{ref.id}", value=secrets.token_hex(8))


def take_out(db: sqlite3.Connection, memory_keys: Sequence[int]) -> None:
    """In the transaction that forgets memories: ours are gone with it, other backends' are noted."""
    for start in range(0, len(memory_keys), FORGOTTEN_AT_ONCE):
        some = list(memory_keys[start : start + FORGOTTEN_AT_ONCE])
        remove(db, some)
        execute(db, "set_derived", name=f"vectors_forgotten_{some[0]}", value=json.dumps(some))


def move(db: sqlite3.Connection, refs: Sequence[Ref], session_id: int, gone: int, into: int) -> None:
    """In the transaction that gives a session's memories to another project. Ours are given another key,
    under a new stamp, so that nobody goes on with what was read before; another backend makes them anew."""
    moved = [ref for ref in refs if ref.kind in EMBEDDED]
    try:
        begin = Ref(EMBEDDED[0], 0)
        first, by = (
            memory_key(gone, session_id, begin),
            memory_key(into, session_id, begin) - memory_key(gone, session_id, begin),
        )
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


def _record(db: sqlite3.Connection, maker: str, stamp: str) -> None:
    execute(db, "set_derived", name="vectors_made_by", value=maker)
    execute(db, "set_derived", name="vectors_stamp", value=stamp)


def _again(db: sqlite3.Connection, limit: int) -> Unembedded | None:
    rows = execute(db, "embedded_anew", most=MOST_CHARACTERS, limit=limit).fetchall()
    there = [row for row in rows if row["id"] is not None]
    placed = [(_place("observation", row), _words("observation", row)) for row in there]
    texts = [(place, words) for place, words in placed if place is not None and words]
    return Unembedded(texts, {}, {row["name"]: row["value"] for row in rows}) if rows else None


def _settle(db: sqlite3.Connection, marks: Mapping[MemoryKind, int], again: Mapping[str, str]) -> None:
    _advance(db, marks)
    for name, value in again.items():
        execute(db, "settle_again", name=name, value=value)


def _advance(db: sqlite3.Connection, marks: Mapping[MemoryKind, int]) -> None:
    for kind, upto in marks.items():
        execute(db, "set_derived", name=f"vectors_upto_{kind}", value=str(upto))


def _place(kind: MemoryKind, row: sqlite3.Row) -> int | None:
    """None: it belongs to no project, or the indexes have no place for it."""
    if row["project_id"] is None:
        return None
    try:
        return memory_key(row["project_id"], row["session_id"], Ref(kind, row["id"]))
    except OverflowError:
        return None


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
