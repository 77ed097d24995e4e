"""What one process does while another does something else."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import psycopg
from tests.contracts.store_contract import NOON, ORIGIN

from claude_mem.model.memory import Observation
from claude_mem.model.refs import Ref
from claude_mem.store.postgres import PostgresStore
from claude_mem.store.postgres.connection import PostgresConnection
from claude_mem.store.relational.memories import Memories
from claude_mem.store.values import Revision, TextQuery

WAIT_S = 60.0


def remember(store: PostgresStore, title: str, session: str = "s") -> Ref:
    ref, _ = store.memories.remember(Observation("change", title=title), ORIGIN, session=session, at=NOON)
    return ref


@contextmanager
def open_transaction(store: PostgresStore, title: str) -> Iterator[None]:
    """Something is remembered, and its transaction commits when the block is left."""
    written, leave = threading.Event(), threading.Event()

    def work(db: PostgresConnection) -> None:
        kept: Any = Memories.remember
        kept.__wrapped__(
            store.memories, db, Observation("change", title=title), ORIGIN, session="slow", at=NOON
        )
        written.set()
        assert leave.wait(WAIT_S)

    with ThreadPoolExecutor(1) as threads:
        done: Future[None] = threads.submit(store.writer.run, work)
        try:
            assert written.wait(WAIT_S)
            yield
        finally:
            leave.set()
            done.result(WAIT_S)


def finds(store: PostgresStore, word: str) -> int:
    (found, *_) = store.memories.match(TextQuery((word,)), None).matched
    return len(found.scores)


def soon(ask: Callable[[], Any]) -> Any:
    """Until it answers something, however busy the server is."""
    for _ in range(200):
        if found := ask():
            return found
        threading.Event().wait(0.05)
    return found


def while_correcting(store: PostgresStore, url: str, revision: Revision) -> Any:
    """`with waits(call) as done`: the call waits while a correction is open; `done()` is its result."""

    def work(db: PostgresConnection, written: threading.Event, leave: threading.Event) -> None:
        revise: Any = Memories.revise
        revise.__wrapped__(store.memories, db, [revision])
        written.set()
        assert leave.wait(WAIT_S)

    @contextmanager
    def waits(call: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
        written, leave = threading.Event(), threading.Event()
        with ThreadPoolExecutor(2) as threads, psycopg.connect(url, autocommit=True) as db:
            held = threads.submit(store.writer.run, lambda db: work(db, written, leave))
            try:
                assert written.wait(WAIT_S)
                second = threads.submit(call)
                waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
                assert soon(lambda: db.execute(waiting).fetchone())
            finally:
                leave.set()
            held.result(WAIT_S)
            yield lambda: second.result(WAIT_S)

    return waits
