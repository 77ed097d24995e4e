"""Chroma as the vector backend, in its own folder or on a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import chromadb
import numpy as np
from chromadb.config import Settings
from chromadb.errors import InvalidArgumentError, InvalidDimensionException, NotFoundError

from claude_mem.model.refs import LARGEST_PROJECT, span
from claude_mem.vectors.backend import OtherDimension
from claude_mem.vectors.deadline import Deadline

if TYPE_CHECKING:
    from claude_mem.vectors.backend import Vector

PREFIX = "claude-mem-"
OPENING_S = 10.0
CHANGING_S = 10.0
QUERY_S = 1.0
AT_ONCE = 1_000
"""Chroma's servers reject larger requests, and its SQLite more than a few thousand variables."""


MOST_NEAREST = 10_000
"""More would take longer than any caller waits."""


REFUSALS = (InvalidArgumentError, InvalidDimensionException, NotFoundError)


class Chroma:
    """The optional VectorBackend, in its own folder or on a server.

    It gets vectors and keys, never text. Its client has no deadlines, so a separate thread calls it: callers
    stop waiting at their deadline, and do not wait at all while a call is pending or shortly after a
    failure."""

    name = "chroma"

    def __init__(
        self,
        folder: Path,
        url: str | None = None,
        *,
        projects: Callable[[Sequence[int]], Mapping[int, int]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`projects`: those of some memories, by their keys."""
        self._folder, self._url, self._projects = folder, url, projects
        self._line = Deadline("Chroma", clock, REFUSALS)
        self._client: Any = None
        self._collection: Any = None
        self._stamp = ""

    def open(self, stamp: str) -> bool:
        return self._line.call(lambda: self._find(stamp), OPENING_S)

    def begin(self, stamp: str, before: str | None) -> None:
        self._line.call(lambda: self._start(stamp, before), OPENING_S)

    def put(self, vectors: Mapping[int, Vector]) -> None:
        projects = self._projects(list(vectors))
        for some in _parts(list(projects)):
            rows = {
                "ids": [str(memory_key) for memory_key in some],
                "embeddings": [vectors[memory_key] for memory_key in some],
                "metadatas": [
                    {"memory_key": memory_key, "project_id": projects[memory_key]} for memory_key in some
                ],
            }
            self._call("upsert", CHANGING_S, **rows)

    def remove(self, memory_keys: Sequence[int]) -> None:
        for some in _parts(memory_keys):
            self._call("delete", CHANGING_S, ids=[str(memory_key) for memory_key in some])

    def nearest(self, vector: Vector, project_id: int | None, limit: int) -> list[tuple[int, float]]:
        if limit < 1 or not vector.any():
            return []
        where = None if project_id is None else _in_project(project_id)
        question = {
            "query_embeddings": [vector],
            "n_results": min(limit, MOST_NEAREST),
            "where": where,
            "include": ["distances"],
        }
        found = self._call("query", QUERY_S, **question)
        close = [(int(id), 1.0 - far) for id, far in zip(found["ids"][0], found["distances"][0], strict=True)]
        return sorted(close, key=lambda pair: (-pair[1], -pair[0]))

    def cosines(self, vector: Vector, memory_keys: Sequence[int]) -> dict[int, float]:
        close: dict[int, float] = {}
        for some in _parts(memory_keys):
            ids = [str(memory_key) for memory_key in some]
            found = self._call("get", QUERY_S, ids=ids, include=["embeddings"])
            if not found["ids"]:
                continue
            rows = np.asarray(found["embeddings"], dtype=np.float32)
            if rows.shape[1] != vector.size:
                raise OtherDimension((rows.shape[1], vector.size))
            close |= zip(map(int, found["ids"]), (rows @ vector).tolist(), strict=True)
        return close

    def count(self) -> int:
        return int(self._call("count", QUERY_S))

    def clear(self) -> None:
        self._line.call(lambda: self._start(self._stamp, self._stamp), CHANGING_S)

    def close(self) -> None:
        self._line.close(self._disconnect)

    def _call(self, method: str, seconds: float, **given: Any) -> Any:
        return self._line.call(lambda: getattr(self._collection, method)(**given), seconds)

    # In the thread that talks to it:

    def _connected(self) -> Any:
        if self._client is None:
            quiet = Settings(anonymized_telemetry=False)
            if self._url:
                address = urlsplit(self._url)
                ssl = address.scheme == "https"
                port = address.port or (443 if ssl else 8000)
                self._client = chromadb.HttpClient(address.hostname or "", port, ssl, settings=quiet)
            else:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._client = chromadb.PersistentClient(self._folder, settings=quiet)
        return self._client

    def _disconnect(self) -> None:
        if self._client is None:
            return
        self._client.close()
        for half in (self._client, getattr(self._client, "_admin_client", None)):
            session = getattr(getattr(half, "_server", None), "_session", None)
            if session is not None:
                session.close()  # a server's: its own close() leaves two connections open

    def _find(self, stamp: str) -> bool:
        try:
            self._collection = self._connected().get_collection(PREFIX + stamp, embedding_function=None)
        except NotFoundError:
            return False
        self._stamp = stamp
        return True

    def _start(self, stamp: str, before: str | None) -> None:
        client = self._connected()
        if before is not None:
            with suppress(NotFoundError):
                client.delete_collection(PREFIX + before)
        self._collection = client.create_collection(
            PREFIX + stamp, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        self._stamp = stamp


def _in_project(project_id: int) -> dict[str, Any]:
    """A condition on the project: by the keys themselves if they contain it, because older collections lack
    the field."""
    if project_id > LARGEST_PROJECT:
        return {"project_id": project_id}
    first, last = span(project_id)
    by_key = {"$and": [{"memory_key": {"$gte": first}}, {"memory_key": {"$lte": last}}]}
    return {"$or": [by_key, {"project_id": project_id}]}


def _parts(memory_keys: Sequence[int]) -> Iterator[Sequence[int]]:
    return (memory_keys[start : start + AT_ONCE] for start in range(0, len(memory_keys), AT_ONCE))
