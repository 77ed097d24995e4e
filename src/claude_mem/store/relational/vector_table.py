"""Vectors in the database, and what is noted of them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from claude_mem.model.refs import MemoryKind, Ref
from claude_mem.store.relational.part import Connection, Part, Row, derived, execute, transaction
from claude_mem.store.relational.rows import batches

EMBEDDED: tuple[MemoryKind, ...] = ("observation", "summary", "prompt")
"""Not evidence: it is verbatim, and there is much of it; full text finds it."""

REMOVED_AT_ONCE = 5_000


class VectorTable(Part):
    def remove(self, memory_keys: Sequence[int]) -> None:
        self._change("remove_vectors", memory_keys=json.dumps(list(memory_keys)))

    def blobs(self, memory_keys: Sequence[int]) -> dict[int, bytes]:
        found = self._rows("vectors_at", memory_keys=json.dumps(list(memory_keys)))
        return {row["memory_key"]: row["vector"] for row in found}

    def existing(self, memory_keys: Sequence[int]) -> set[int]:
        return {row[0] for row in self._rows("vectors_there", memory_keys=json.dumps(list(memory_keys)))}

    def count(self) -> int:
        return self._number("count_vectors")

    def clear(self) -> None:
        """Not in one transaction: those who write meanwhile do not wait for it."""
        while self._change("remove_some_vectors", limit=REMOVED_AT_ONCE):
            pass


MOST_CHARACTERS = 4_000
"""Of one memory's longest text: more than any embedder reads."""

FORGOTTEN_AT_ONCE = 1_000

BUILTIN = "builtin"
"""With what the name of the one begins whose vectors lie in this file."""


class Embeddings(Part):
    """Which vectors there are; which memories have none is for each store to find."""

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
    def _record(self, db: Connection, maker: str, stamp: str) -> None:
        execute(db, "set_derived", name="vectors_made_by", value=maker)
        execute(db, "set_derived", name="vectors_stamp", value=stamp)

    def note_used(self) -> None:
        """Nobody else does."""

    def copy(self) -> int:
        """They are stored once."""
        return 0

    def forgotten(self) -> tuple[str, list[int]] | None:
        note = self._row("forgotten_vectors")
        return None if note is None else (note["name"], json.loads(note["value"]))

    def settle(self, note: str) -> None:
        self._change("forget_derived", name=note)


def is_builtin(db: Connection) -> bool:
    """Whether the vectors lie in this database."""
    return (derived(db, "vectors_made_by") or BUILTIN).startswith(BUILTIN)


def renew_stamp(db: Connection) -> None:
    """Nobody goes on with what was read before."""
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
