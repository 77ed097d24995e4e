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


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        (
            "same_content",
            "INDEX observations_by_content (project_id=? AND content_key=? AND created_at_epoch>?)",
        ),
        ("standing_observations", "INDEX observations_standing (project_id=? AND created_at_epoch<?)"),
    ],
)
def test_what_is_asked_for_each_observation_is_found_in_its_order(
    db: sqlite3.Connection, name: str, plan: str
) -> None:
    """One step, no sorting: the limit is all that is read, however much a project remembers."""
    (step,) = explained(db, queries()[name])
    assert step.endswith(plan)


def test_whether_a_turn_has_ended_is_one_look_into_an_index(db: sqlite3.Connection) -> None:
    steps = explained(db, queries()["ended_sessions"])
    assert "SEARCH p USING INDEX pending_messages_stops (session_id=?)" in steps
    assert not [step for step in steps if "TEMP B-TREE" in step]


@pytest.mark.parametrize("name", queries())
def test_every_query_is_used(name: str) -> None:
    assert any(f'"{name}"' in path.read_text() for path in FOLDER.glob("*.py"))


def test_every_query_says_what_it_is_for() -> None:
    text = (FOLDER / "queries.sql").read_text()
    assert len(re.findall(r"^-- name: \w+\n-- \w.+\.\n", text, re.MULTILINE)) == len(queries())


def test_no_other_file_of_the_store_speaks_sql() -> None:
    words = re.compile(r"\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE)\b")
    assert not [path.name for path in FOLDER.rglob("*.py") if words.search(path.read_text())]
