"""A real store that remembers what a test tells it, and all of recall on top of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Any, cast

from tests.contracts.store_contract import NOON, ORIGIN, Events, SettableClock, new_events

from claude_mem.api.memories import CopyReport
from claude_mem.model.events import Event, Kind, Origin, ToolCall
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Card, Filters, Ref
from claude_mem.model.structs import replace
from claude_mem.recall.deletion import MemoryDeleter, OtherCopies
from claude_mem.recall.edit import MemoryWriter
from claude_mem.recall.filter_resolver import FilterResolver
from claude_mem.recall.inject import InjectionLimits, Injector
from claude_mem.recall.memory_reader import MemoryReader
from claude_mem.recall.search import Search, SearchResults
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import DeletionRequest, Injection, Project
from claude_mem.vectors.indexer import Similarity

DAY = 24 * 60 * 60 * 1000
ELSEWHERE = replace(ORIGIN, key="github.com/a/mill", name="mill", root="/home/a/mill")


@dataclass
class Told:
    """What git says: what a test has it say."""

    marks: dict[Ref, tuple[str, ...]] = field(default_factory=dict)

    def __call__(self, card: Card) -> tuple[str, ...]:
        return self.marks.get(card.ref, ())


class TwoBackups:
    """Memories lie in two backups, from which they can be taken."""

    def __init__(self) -> None:
        self._holding = ["a.db", "b.db"]

    def look(self, wanted: DeletionRequest) -> list[CopyReport]:
        del wanted
        return [CopyReport(path, "backup", "holds") for path in self._holding]

    def forget(self, wanted: DeletionRequest, *, exports: bool) -> list[CopyReport]:
        del wanted, exports
        gone, self._holding = self._holding, []
        return [CopyReport(path, "backup", "rewritten") for path in gone]


class House:
    """One store; every part of recall that a test may want to ask."""

    def __init__(
        self, store: SqliteStore, clock: SettableClock, near: Similarity | None, size: InjectionLimits
    ) -> None:
        self.store, self.clock, self.staleness = store, clock, Told()
        self.library, self.shelves = store.memories, store.sessions
        self.keeping = store
        self.indexing = store.text_index
        self.search = Search(self.library, clock, near, self.staleness)
        self.resolver = FilterResolver(
            store=store,
            clock=clock,
            zone=lambda: UTC,
            key_of=lambda cwd: self.origin_of(cwd).key,
            facts_of=lambda _root: None,
        )
        self.reading = MemoryReader(
            store=store,
            engine=self.search,
            resolver=self.resolver,
            check_staleness=self.staleness,
            clock=clock,
            catch_up=self.indexing.catch_up,
        )
        self.changes = 0
        self.writing = MemoryWriter(
            store=store,
            origin_of=self.origin_of,
            is_excluded=lambda _cwd, _name: False,
            clock=clock,
            clean=lambda text: text.replace("hunter2", ""),
            on_change=self._changed,
        )
        self.deleter = MemoryDeleter(
            store=store,
            resolver=self.resolver,
            copies=cast(OtherCopies, TwoBackups()),
            drain=lambda: 0,
            on_change=self._changed,
            on_forget=lambda: None,
        )
        self.injector = Injector(
            store=store,
            search=self.search,
            resolver=self.resolver,
            check_staleness=self.staleness,
            origin_of=self.origin_of,
            is_excluded=lambda _cwd, _name: False,
            clock=clock,
            zone=lambda: UTC,
            note=store.injections.note_injection,
            size=size,
        )
        self.events = Events()

    def origin_of(self, cwd: str) -> Origin:
        for origin in (ORIGIN, ELSEWHERE):
            if cwd == origin.root or cwd.startswith(f"{origin.root}/"):
                return origin
        return Origin(key=f"path:{cwd}", name=cwd.rpartition("/")[2], root=cwd)

    def keep(
        self,
        title: str,
        narrative: str | None = None,
        *,
        session: str = "s1",
        origin: Origin = ORIGIN,
        days_ago: float = 0,
        indexed: bool = True,
        **more: Any,
    ) -> Ref:
        """An observation by itself."""
        kept: dict[str, Any] = {"source": "work", "client": "claude-code"}
        kept |= {name: more.pop(name) for name in ("source", "client", "provider") if name in more}
        observation = Observation(more.pop("type", "change"), title, narrative=narrative, **more)
        at = int(self.clock() - days_ago * DAY)
        ref, new = self.keeping.memories.remember(
            observation,
            origin,
            session=session,
            at=at,
            **kept,
        )
        assert new
        if indexed:
            self.indexing.catch_up()
        return ref

    def turn(
        self,
        prompt: str | None = None,
        *more: Event,
        session: str = "s1",
        observed: Sequence[Observation] = (),
        summary: Summary | None = None,
        origin: Origin = ORIGIN,
        at: int | None = None,
    ) -> None:
        """What happens in a turn, and what it leaves behind. Nothing of it is indexed yet."""
        when = {} if at is None else {"at": at}
        cwd = origin.root
        events = [self.events.prompt(prompt, session, cwd=cwd, **when)] if prompt is not None else []
        events += more or [self.events.make(Kind.STOP, session, text="Done.", cwd=cwd, **when)]
        self.store.events.accept(new_events(*events, origin=origin))
        found = self.store.sessions.find(session)
        assert found is not None
        lease = self.store.queue.lease(100, found.id)
        assert lease is not None
        self.store.queue.settle(lease, Findings(tuple(observed), (summary,) if summary else ()))

    def tool(self, name: str, given: str, response: str = "", *, session: str = "s1", **more: Any) -> Event:
        call = ToolCall(name, given, response, more.pop("use_id", f"toolu_{name}_{len(given)}"))
        return self.events.make(Kind.TOOL_USE, session, tool=call, cwd=more.pop("cwd", ORIGIN.root), **more)

    def found(self, query: str, most: int = 20, **filters: Any) -> list[str]:
        """The refs, the best first."""
        return [str(hit.card.ref) for hit in self.hits(query, most, **filters).hits]

    def hits(self, query: str, most: int = 20, **filters: Any) -> SearchResults:
        self.indexing.catch_up()
        return self.search(query, Filters(**filters), most)

    def project(self, origin: Origin = ORIGIN) -> Project:
        found = self.store.projects.find(origin.key)
        assert found is not None
        return found

    def told(self, session: str) -> list[Injection]:
        return list(self.keeping.injections.injections(session=session))

    def _changed(self, projects: Collection[int] | None) -> None:
        del projects
        self.changes += 1
        self.indexing.catch_up()


def copied(memory: House, ref: Ref, times: int, sessions: int = 1) -> None:
    """An observation once more, so often, each with a number and a millisecond later, spread over as many
    sessions (`s1-0`, `s1-1`, …). In one transaction, and not indexed yet."""

    def copy(db: sqlite3.Connection) -> int:
        observation = _row(db, "observations", ref.id)
        session = _row(db, "sdk_sessions", observation["session_id"])
        names = [f"{session['claude_session_id']}-{number}" for number in range(sessions)]
        ids = [_insert(db, "sdk_sessions", session | {"claude_session_id": name}) for name in names]
        for number in range(times):
            _insert(
                db,
                "observations",
                observation
                | {
                    "title": f"{observation['title']} {number}",
                    "session_id": ids[number % sessions],
                    "created_at_epoch": observation["created_at_epoch"] + 1 + number,
                    "content_key": None,
                },
            )
        return times

    memory.store.writer.run(copy)


def _row(db: sqlite3.Connection, table: str, id: int) -> dict[str, Any]:
    row = db.execute(f"SELECT * FROM {table} WHERE id = ?", (id,)).fetchone()
    return {name: row[name] for name in row.keys() if name != "id"}  # noqa: SIM118 - a Row is no dict


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> int:
    values = ", ".join(f":{name}" for name in row)
    return db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})", row).lastrowid or 0


@contextmanager
def house(
    folder: Path, near: Similarity | None = None, size: InjectionLimits | None = None
) -> Iterator[House]:
    clock = SettableClock(NOON)
    database = folder / "data" / "claude-mem.db"
    with SqliteStore.open(database, clock=clock, backups=folder / "data" / "backups") as store:
        yield House(store, clock, near, size or InjectionLimits())
