"""Vectors in the database, and the state of indexing them."""

from __future__ import annotations

import json
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from claude_mem.model.refs import MemoryKind, Ref
from claude_mem.store.relational.part import Connection, Part, Row, derived, execute, last_id, transaction
from claude_mem.store.relational.rows import batches
from claude_mem.store.values import Unembedded

EMBEDDED: tuple[MemoryKind, ...] = ("observation", "summary", "prompt")
"""Not evidence: it is verbatim, and there is much of it; full text finds it."""

REMOVED_AT_ONCE = 5_000


class VectorTable(Part, ABC):
    """Vectors, stored in the database."""

    @abstractmethod
    def put(self, blobs: Mapping[int, bytes]) -> dict[int, int]:
        """Store those whose memory exists, in one transaction with that check; returns their keys, each with
        its project."""

    @abstractmethod
    def projects(self, memory_keys: Sequence[int]) -> dict[int, int]:
        """Of the memories that exist."""

    @abstractmethod
    def newest(self, project_id: int | None, limit: int, at_once: int) -> Iterator[list[tuple[int, bytes]]]:
        """The newest of a project, or about as many of the newest of all, in lists of at most `at_once`."""

    def changes(self, mark: int | None) -> tuple[int | None, dict[int, dict[int, bytes]] | None]:
        """The next mark, and the vectors that any process has stored since this one, by project (None: too
        many). Without a mark: from now on. Here: nobody else stores any."""
        return mark, {}

    def nearest(
        self, query: Sequence[float], project_id: int | None, limit: int
    ) -> list[tuple[int, bytes]] | None:
        """Those of a project, or of all, that are closest to a vector of length 1, unordered, as the database
        compares them: rounded, so which are the last of them may differ. None: it cannot."""
        del query, project_id, limit
        return None

    def pgvector(self) -> str | None:
        """For people: which version compares; None: not PostgreSQL."""
        return None

    def remove(self, memory_keys: Sequence[int]) -> None:
        self._change("remove_vectors", memory_keys=json.dumps(list(memory_keys)))

    def blobs(self, memory_keys: Sequence[int]) -> dict[int, bytes]:
        found = self._rows("vectors_at", memory_keys=json.dumps(list(memory_keys)))
        return {row["memory_key"]: row["vector"] for row in found}

    def existing(self, memory_keys: Sequence[int]) -> set[int]:
        """The keys among these that have a vector."""
        return {row[0] for row in self._rows("vectors_there", memory_keys=json.dumps(list(memory_keys)))}

    def count(self) -> int:
        return self._number("count_vectors")

    def clear(self) -> None:
        """Deletes all vectors, in several transactions, so that other writers do not wait."""
        while self._change("remove_some_vectors", limit=REMOVED_AT_ONCE):
            pass


MOST_CHARACTERS = 4_000
"""The maximum length of a memory's text; more than any embedder reads."""

FORGOTTEN_AT_ONCE = 1_000

BUILTIN = "builtin"
"""The prefix of embedders' names whose vectors are in this file."""


class EmbeddingProgress(Part, ABC):
    """Which memories have vectors, also with a backend that stores them elsewhere."""

    @abstractmethod
    def unembedded(self, limit: int) -> Unembedded | None:
        """Some memories without a vector, observations first; None: all have one."""

    @abstractmethod
    def embedded(self, marks: Mapping[MemoryKind, int], settled: Mapping[str, str]) -> None: ...

    def waiting(self, maker: str) -> int:
        """At most this many memories have no vector of this embedder (ids may have gaps)."""
        with self._readers.read() as db:
            if derived(db, "vectors_made_by") != maker:
                return sum(last_id(db, kind) for kind in EMBEDDED)
            return db.vectors.unembedded_count(db)

    def made(self) -> tuple[str, str] | None:
        """The embedder that made them, and their stamp."""
        with self._readers.read() as db:
            maker, stamp = derived(db, "vectors_made_by"), derived(db, "vectors_stamp")
        return None if maker is None or stamp is None else (maker, stamp)

    def begin(self, maker: str) -> str:
        """Start over under a new stamp, and delete the stored vectors. Raises VectorsInUse while another
        machine uses them. In this order: killed on the way, it is begun once more."""
        stamp = secrets.token_hex(8)
        self._change("forget_vector_notes")
        while self._change("remove_some_vectors", limit=REMOVED_AT_ONCE):
            pass
        self._record(maker, stamp)
        return stamp

    @transaction
    def _record(self, db: Connection, maker: str, stamp: str) -> None:
        execute(db, "set_derived", name="vectors_made_by", value=maker)
        execute(db, "set_derived", name="vectors_stamp", value=stamp)

    def note_used(self) -> None:
        """Records that this machine uses the vectors."""

    def copy(self) -> int:
        """Copy some vectors to where the database compares them; 0: none is left to copy."""
        return 0

    def forgotten(self) -> tuple[str, list[int]] | None:
        """Some vectors that must be deleted, and the name of the note about them."""
        note = self._row("forgotten_vectors")
        return None if note is None else (note["name"], json.loads(note["value"]))

    def settle(self, note: str) -> None:
        """Records that its vectors are deleted."""
        self._change("forget_derived", name=note)


def is_builtin(db: Connection) -> bool:
    """Whether the vectors are in this database."""
    return (derived(db, "vectors_made_by") or BUILTIN).startswith(BUILTIN)


def renew_stamp(db: Connection) -> None:
    """Sets a new stamp, so that nothing that was read before is used."""
    execute(db, "set_derived", name="vectors_stamp", value=secrets.token_hex(8))


def take_out(db: Connection, memory_keys: Sequence[int]) -> int:
    """In the transaction that forgets memories: ours are gone with it, and counted; other backends' are
    noted."""
    removed = 0
    for some in batches(memory_keys, FORGOTTEN_AT_ONCE):
        removed += execute(db, "remove_vectors", memory_keys=json.dumps(some)).rowcount
        execute(db, "set_derived", name=f"vectors_forgotten_{some[0]}", value=json.dumps(some))
    return removed


def texts_of(
    kind: MemoryKind, rows: Iterable[Row], key: Callable[[int, int, Ref], int]
) -> list[tuple[int, str]]:
    """`key`: the store's (`Connection.key`)."""
    found = []
    for row in rows:
        words = _words(kind, row)
        with suppress(OverflowError):  # the indexes have no place for it
            if words and row["project_id"] is not None:
                found.append((key(row["project_id"], row["session_id"], Ref(kind, row["id"])), words))
    return found


def _words(kind: MemoryKind, row: Row) -> str:
    """The text to embed, the most significant first: embedders read a limited length."""
    if kind == "prompt":
        parts = [row["prompt"]]
    elif kind == "summary":
        parts = [row["request"], row["learned"], row["completed"], row["next_steps"]]
    else:
        parts = [row["title"], row["subtitle"], row["words"], *json.loads(row["facts"])]
    return "\n".join(part.strip() for part in parts if part and part.strip())
