"""What PostgreSQL does differently: change notifications, figures, forgetting, backups, space, and trial
imports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TypeVar

import psycopg

from claude_mem.api.memories import CopyReport
from claude_mem.model.clock import Clock
from claude_mem.store.postgres.connection import PostgresConnection, Row, connect, error_of
from claude_mem.store.relational import forget, memories, sessions, statistics, upkeep
from claude_mem.store.relational.part import Connection, Readers, Writer, execute
from claude_mem.store.relational.text_matcher import IndexCounts
from claude_mem.store.relational.transfer import Transfer
from claude_mem.store.values import DatabaseSize, DeletionRequest, ForgetPlan, Forgotten, News, NewsMarks

T = TypeVar("T")


MOST_AUDIENCES = 100


class Memories(memories.Memories):
    """How frequent words are depends on who asks: members who read the same projects share what was
    counted."""

    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        super().__init__(readers, writer, clock)
        self._known_by_audience: dict[str, IndexCounts] = {}

    def _known_to(self, db: Connection) -> IndexCounts:
        audience = str(execute(db, "audience").fetchone()[0])
        known = self._known_by_audience.get(audience)
        if known is None:
            if len(self._known_by_audience) >= MOST_AUDIENCES:
                self._known_by_audience = {}
            known = self._known_by_audience[audience] = IndexCounts()
        return known


class Statistics(statistics.Statistics):
    def news(self, since: NewsMarks | None) -> News:
        with self._readers.read() as db:
            mark = int(execute(db, "news_mark").fetchone()[0])
            marks = NewsMarks(mark, mark, mark, mark)
            if since is None:
                return News(marks)
            found = execute(db, "news_since", mark=since.event).fetchall()
        return News(
            marks,
            tuple({row["project_id"]: None for row in found if row["compacted"] is None}),
            tuple((row["project_id"], row["compacted"]) for row in found if row["compacted"] is not None),
            tuple({row["project_id"]: None for row in found if row["is_change"]}),
        )


class Injections(sessions.Injections):
    def figures(self) -> dict[str, dict[str, int]]:
        """Counts the rows, because ids may become visible in another order."""
        found = self._rows("injection_figures")
        return {row["event"]: {"times": row["times"], "tokens": row["tokens"]} for row in found}


class Deletion(forget.Deletion):
    """Deletes rows immediately; their bytes are gone when PostgreSQL vacuums, and when its backups expire."""

    def forget(self, plan: ForgetPlan) -> Forgotten:
        return self.delete(plan, forget.Deleted())

    def finish_forgetting(self) -> bool:
        return False


class Copies:
    """No copies, because pg_dump or an administrator makes PostgreSQL's backups."""

    def look(self, request: DeletionRequest) -> list[CopyReport]:
        del request
        return []

    def forget(self, request: DeletionRequest) -> list[CopyReport]:
        del request
        return []

    def clear_drafts(self) -> None:
        return

    def surplus(self) -> list[Path]:
        return []


class Upkeep(upkeep.Upkeep):
    def checkpoint(self) -> bool:
        """Deletes old change notifications; PostgreSQL makes its own checkpoints."""
        self._change("prune_news")
        return True

    def size(self) -> DatabaseSize:
        return DatabaseSize(self._number("database_size"), 0, 0, shrinks=False)


class _Trial:
    """A transaction in which each step is undone separately if it fails."""

    def __init__(self, raw: psycopg.Connection[Row]) -> None:
        self._raw = raw

    @contextmanager
    def read(self) -> Iterator[PostgresConnection]:
        yield PostgresConnection(self._raw)

    def run(self, work: Callable[[PostgresConnection], T]) -> T:
        with self._raw.transaction():
            return work(PostgresConnection(self._raw))


@contextmanager
def scratch(url: str, clock: Clock) -> Iterator[Transfer]:
    """A trial in a transaction that is never committed, so that it is invisible and leaves nothing behind."""
    with closing(connect(url)) as raw:
        try:
            raw.execute("BEGIN")
            yield Transfer(_Trial(raw), _Trial(raw), clock)
        except psycopg.Error as error:
            raise error_of(error) from error
