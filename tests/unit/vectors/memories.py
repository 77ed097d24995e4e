"""Memories for tests of vectors: real rows of a real store, in two projects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.contracts.store_contract import ORIGIN, Events, SettableClock, new_events

from claude_mem.model.events import Origin
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import MemoryKind, Ref, memory_key
from claude_mem.model.structs import replace
from claude_mem.store.relational.vector_table import take_out
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.connection import open_reader
from claude_mem.store.sqlite.vector_index import VectorTable

OTHER = replace(ORIGIN, key="github.com/a/blog", name="blog", root="/home/a/blog")

TABLES: dict[MemoryKind, str] = {
    "observation": "observations",
    "summary": "session_summaries",
    "prompt": "user_prompts",
}


class Memories:
    def __init__(self, store: SqliteStore) -> None:
        self.store = store
        self.source = store.embeddings
        self._events = Events()

    @property
    def table(self) -> VectorTable:
        return self.store.vectors

    def learn(
        self,
        *titles: str,
        session: str = "s1",
        origin: Origin = ORIGIN,
        prompt: str | None = None,
        summaries: Sequence[Summary] = (),
    ) -> list[int]:
        """Observations of these titles; the memory_keys of all that this added."""
        before = set(self.rows())
        events = [self._events.tool(session)]
        if prompt is not None:
            events.insert(0, self._events.prompt(prompt, session))
        self.store.events.accept(new_events(*events, origin=origin))
        lease = self.store.queue.lease(10)
        assert lease is not None
        seen = tuple(Observation("change", title=title) for title in titles)
        self.store.queue.settle(lease, Findings(seen, tuple(summaries)))
        added = [row for row in self.rows() if row not in before]
        return [memory_key(project, session_id, Ref(kind, id)) for kind, id, session_id, project in added]

    def forget(self, *memory_keys: int) -> None:
        """As forgetting does: the rows and what is derived of them, in one transaction."""

        def work(db: Any) -> None:
            take_out(db, memory_keys)
            for key in memory_keys:
                db.execute("DELETE FROM observations WHERE id = ?", (key & (1 << 25) - 1,))

        self.store.writer.run(work)

    def rows(self) -> list[tuple[MemoryKind, int, int, int]]:
        """Kind, id, session, project: of all that can be embedded."""
        with closing(open_reader(self.store.path)) as db:
            return [
                (kind, id, session_id, project_id)
                for kind, table in TABLES.items()
                for id, session_id, project_id in db.execute(
                    f"SELECT m.id, s.id, s.project_id FROM {table} m, sdk_sessions s WHERE s.id = session_id"
                )
            ]


@contextmanager
def opened(folder: Path) -> Iterator[Memories]:
    with SqliteStore.open(folder / "claude-mem.db", clock=SettableClock(), backups=folder / "b") as store:
        yield Memories(store)


def in_two_projects(memories: Memories, each: int) -> list[int]:
    first = memories.learn(*(f"shop {number}" for number in range(each)))
    return first + memories.learn(*(f"blog {number}" for number in range(each)), session="s2", origin=OTHER)
