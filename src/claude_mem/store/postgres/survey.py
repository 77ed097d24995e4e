"""Inspects a PostgreSQL database without a worker: for doctor, and for the figures of stats."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg

from claude_mem.model.errors import StoreError, StoreTooNew
from claude_mem.model.structs import replace
from claude_mem.store.postgres.connection import SCHEMA, PostgresConnection, connect, error_of, name_of
from claude_mem.store.postgres.schema import VERSION
from claude_mem.store.relational import statistics
from claude_mem.store.relational.part import execute
from claude_mem.store.values import DatabaseSize, Survey, UsageCounts


def count_since(url: str, since: int, now: int) -> UsageCounts:
    """Both times in epoch milliseconds."""
    with _looking(url) as db:
        return statistics.count_since(db, since, now)


def survey_database(url: str, now: int) -> Survey:
    """Inspects the database without creating, migrating or changing anything."""
    facts = Survey(Path(name_of(url)), known_schema=VERSION, on_server=True)
    try:
        with _looking(url) as db:
            if not db.run(db.queries["schema_found"], {"schema": SCHEMA}).fetchone()["ours"]:
                return facts
            return _surveyed(db, replace(facts, exists=True), now)
    except StoreError as error:
        return replace(facts, exists=True, problem=str(error))


def _surveyed(db: PostgresConnection, facts: Survey, now: int) -> Survey:
    found = int(execute(db, "found_version").fetchone()["version"])
    if found > VERSION:
        raise StoreTooNew(str(facts.path), found=found, known=VERSION)
    size = int(execute(db, "database_size").fetchone()[0])
    return replace(
        statistics.surveyed(db, facts, now),
        bytes=size,
        schema=found,
        checked=True,
        room=DatabaseSize(size, 0, 0, shrinks=False),
    )


@contextmanager
def _looking(url: str) -> Iterator[PostgresConnection]:
    with closing(connect(url)) as raw:
        try:
            raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield PostgresConnection(raw)
        except psycopg.Error as error:
            raise error_of(error) from error
