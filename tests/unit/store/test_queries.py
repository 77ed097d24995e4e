"""The statements of queries.sql."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import claude_mem.store.sqlite
from claude_mem.store.sqlite.queries import queries

FOLDER = Path(claude_mem.store.sqlite.__file__).parent
LARGE = (
    "pending_messages",
    "sdk_sessions",
    "user_prompts",
    "observations",
    "session_summaries",
    "queue_heads",
    "spending",
    "observation_sightings",
)


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript((FOLDER / "schema.sql").read_text())
        yield db


def explained(db: sqlite3.Connection, statement: str) -> list[str]:
    parameters = dict.fromkeys(re.findall(r":(\w+)", statement), 1)
    return [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]


@pytest.mark.parametrize("name", queries())
def test_a_query_fits_the_schema(db: sqlite3.Connection, name: str) -> None:
    explained(db, queries()[name])


@pytest.mark.parametrize("name", queries())
def test_no_query_walks_over_a_table_that_grows(db: sqlite3.Connection, name: str) -> None:
    walks = [step for step in explained(db, queries()[name]) if step.startswith("SCAN")]
    if name == "oldest_ready":  # walks along an index, and stops at its first entry
        assert walks == ["SCAN pending_messages USING INDEX pending_messages_ready_age"]
        return
    assert not [step for step in walks if any(table in step for table in LARGE)]


@pytest.mark.parametrize("name", queries())
def test_every_query_is_used(name: str) -> None:
    assert any(f'"{name}"' in path.read_text() for path in FOLDER.glob("*.py"))


def test_every_query_says_what_it_is_for() -> None:
    text = (FOLDER / "queries.sql").read_text()
    assert len(re.findall(r"^-- name: \w+\n-- \w.+\.\n", text, re.MULTILINE)) == len(queries())


def test_no_other_file_of_the_store_speaks_sql() -> None:
    words = re.compile(r"\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE)\b")
    assert not [path.name for path in FOLDER.rglob("*.py") if words.search(path.read_text())]
