"""The vectors in PostgreSQL. The transaction that adds a memory lists it in a table of memories without a
vector.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from socket import gethostname

from claude_mem.model.errors import VectorsInUse
from claude_mem.model.refs import MemoryKind, Ref, id_at, keys_by_kind, ref_at, session_at
from claude_mem.store.postgres import pgvector
from claude_mem.store.relational import vector_table
from claude_mem.store.relational.part import Connection, derived, execute, transaction
from claude_mem.store.relational.vector_table import (
    EMBEDDED,
    MOST_CHARACTERS,
    is_builtin,
    renew_stamp,
    texts_of,
)
from claude_mem.store.team import acting_as_service
from claude_mem.store.values import Unembedded

take_out = vector_table.take_out


MOST_CHANGED = 20_000
"""If there are more changes, everything is read again."""


class VectorTable(vector_table.VectorTable):
    """The table of vectors, in which other processes also store vectors."""

    @transaction
    def put(self, db: Connection, blobs: Mapping[int, bytes]) -> dict[int, int]:
        # A move to another project happens before or after this, never in between.
        for kind, keys in keys_by_kind(blobs).items():
            execute(db, f"hold_{kind}", ids=json.dumps(sorted(map(id_at, keys))))
        stored = {}
        for key, blob in blobs.items():
            ref = ref_at(key)
            given = {"id": ref.id, "session_id": session_at(key), "memory_key": key, "vector": blob}
            row = db.run(db.queries[f"keep_vector_{ref.kind}"], given).fetchone()
            if row is not None:
                stored[key] = row["project_id"]
        return stored

    def projects(self, memory_keys: Sequence[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        with self._readers.read() as db:
            for kind, keys in keys_by_kind(memory_keys).items():
                by_id = {id_at(key): key for key in keys}
                rows = execute(db, f"projects_of_{kind}", ids=json.dumps(list(by_id)))
                found |= {by_id[row["id"]]: row["project_id"] for row in rows}
        return found

    def newest(self, project_id: int | None, limit: int, at_once: int) -> Iterator[list[tuple[int, bytes]]]:
        query = "newest_vectors" if project_id is None else "newest_vectors_of_project"
        with self._readers.read() as db:
            found = execute(db, query, project_id=project_id, limit=limit)
            while rows := found.fetchmany(at_once):
                yield [(row["memory_key"], row["vector"]) for row in rows]

    def changes(self, mark: int | None) -> tuple[int | None, dict[int, dict[int, bytes]] | None]:
        """On a team's server for all members alike: what is found with them is looked up for the caller."""
        with acting_as_service(), self._readers.read() as db:
            now = int(execute(db, "news_mark").fetchone()[0])
            if mark is None:
                return now, {}
            found = execute(db, "vectors_changed", mark=mark, limit=MOST_CHANGED + 1).fetchall()
        if len(found) > MOST_CHANGED:
            return now, None
        changed: dict[int, dict[int, bytes]] = {}
        for row in found:
            changed.setdefault(row["project_id"], {})[row["memory_key"]] = row["vector"]
        return now, changed

    def nearest(
        self, query: Sequence[float], project_id: int | None, limit: int
    ) -> list[tuple[int, bytes]] | None:
        """Finds the nearest vectors with pgvector, as the acting member: the rules hide what the member may
        not read."""
        with self._readers.read() as db:
            if execute(db, "halfvecs_ready").fetchone() is None:
                return None
            found = execute(
                db,
                "nearest_halfvecs",
                query=json.dumps(list(query)),
                project_id=project_id,
                limit=limit,
            )
            return [(row["memory_key"], row["vector"]) for row in found.fetchall()]

    def pgvector(self) -> str:
        with self._readers.read() as db:
            return pgvector.described(pgvector.found(db))


class EmbeddingProgress(vector_table.EmbeddingProgress):
    def begin(self, maker: str) -> str:
        """A machine that is set to another model must not take theirs from the others, which would take its
        own from it."""
        made = self.made()
        if made is not None and self._row("vectors_used_elsewhere", machine=gethostname()) is not None:
            raise VectorsInUse(made[0], maker)
        self._change("embed_all")
        return super().begin(maker)

    def note_used(self) -> None:
        self._change("note_vectors_used", machine=gethostname())

    def copy(self) -> int:
        return pgvector.copy(self._writer)

    def unembedded(self, limit: int) -> Unembedded | None:
        with self._readers.read() as db:
            for kind in EMBEDDED:
                rows = execute(db, f"unembedded_{kind}", most=MOST_CHARACTERS, limit=limit).fetchall()
                if rows:
                    present = (row for row in rows if row["session_id"] is not None)
                    notes = {f"{kind}:{row['id']}": str(row["stamp"]) for row in rows}
                    return Unembedded(texts_of(kind, present, db.key), {}, notes)
        return None

    @transaction
    def embedded(self, db: Connection, marks: Mapping[MemoryKind, int], settled: Mapping[str, str]) -> None:
        assert not marks, "each memory is noted by itself"
        for name, stamp in settled.items():
            kind, _, id = name.partition(":")
            execute(db, "settle_unembedded", kind=kind, id=int(id), stamp=int(stamp))


def unembedded_count(db: Connection) -> int:
    return int(execute(db, "count_unembedded").fetchone()[0])


def make_again(db: Connection, ref: Ref) -> None:
    """In the transaction that changes a memory's words. Its old vector stands until the new one is made."""
    execute(db, "embed_again", kind=ref.kind, id=ref.id)


def move(db: Connection, refs: Sequence[Ref], session_id: int, source: int, into: int) -> None:
    """In the transaction that gives a session's memories to another project. Ours follow, under a new stamp,
    so that nobody goes on with what was read before; another backend makes them anew."""
    for ref in refs:
        if ref.kind in EMBEDDED:
            with suppress(OverflowError):  # the indexes have no place for it
                key = db.key(source, session_id, ref)
                _move_vector(db, ref, key, key, into)
    if is_builtin(db) and derived(db, "vectors_stamp") is not None:
        renew_stamp(db)


def follow(db: Connection, ref: Ref, project_id: int, before: int) -> None:
    """In the transaction that gave one memory to another session than `before`."""
    row = execute(db, f"session_of_{ref.kind}", id=ref.id).fetchone()
    try:
        old, new = db.key(project_id, before, ref), db.key(project_id, row["session_id"], ref)
    except OverflowError:
        return
    if _move_vector(db, ref, old, new, project_id):
        renew_stamp(db)


def _move_vector(db: Connection, ref: Ref, old: int, new: int, project_id: int) -> bool:
    """Moves a vector; returns whether there was one. If one is being computed, it is computed again."""
    given = {"old": old, "new": new, "project_id": project_id}
    moved = is_builtin(db) and execute(db, "move_vector", **given).rowcount > 0
    if not moved:
        if not is_builtin(db):
            take_out(db, [old])
        make_again(db, ref)
    return moved
