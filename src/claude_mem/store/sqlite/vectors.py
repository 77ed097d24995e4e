"""The shelf of the built-in vectors: their bytes, in the same file as the rows they are made of."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from claude_mem.model.refs import MemoryKind, Ref, ref_at, session_at, span, spot
from claude_mem.store.sqlite.queries import execute, queries
from claude_mem.store.sqlite.readers import Readers
from claude_mem.store.sqlite.writer import Writer

EMBEDDED: tuple[MemoryKind, ...] = ("observation", "summary", "prompt")
"""Not evidence: it is verbatim, and there is much of it; full text finds it."""

SHARES: dict[MemoryKind, int] = {"observation": 2, "summary": 4, "prompt": 4}
"""Of what may be read of all projects: a half, a fourth and a fourth."""

REMOVED_AT_ONCE = 5_000


class SqliteVectors:
    """Any thread may call it; any call may block. Raises StoreError."""

    def __init__(self, readers: Readers, writer: Writer) -> None:
        self._readers, self._writer = readers, writer

    def put(self, blobs: Mapping[int, bytes]) -> list[int]:
        """Those whose memory exists, in one transaction with the look at it; says which."""
        return self._writer.run(lambda db: [place for place, blob in blobs.items() if _keep(db, place, blob)])

    def remove(self, spots: Sequence[int]) -> None:
        self._writer.run(lambda db: remove(db, spots))

    def blobs(self, spots: Sequence[int]) -> dict[int, bytes]:
        with self._readers.read() as db:
            found = execute(db, "vectors_at", spots=json.dumps(list(spots)))
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


def remove(db: sqlite3.Connection, spots: Sequence[int]) -> None:
    execute(db, "remove_vectors", spots=json.dumps(list(spots)))


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
    return [(spot(project_id, since, begin), span(project_id)[1]) for project_id in projects]


def _session_of(db: sqlite3.Connection, kind: MemoryKind, last: int) -> int:
    """In which session the last so many of a kind begin."""
    (newest,) = execute(db, f"last_{kind}").fetchone()
    if newest < last:
        return 0
    row = execute(db, f"session_of_{kind}", id=newest - last + 1).fetchone()
    return 0 if row is None else int(row["session_id"])
