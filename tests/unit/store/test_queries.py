"""The statements of the .sql files."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import claude_mem.store.relational
import claude_mem.store.sqlite
from claude_mem.model.refs import KINDS
from claude_mem.store.sqlite.connection import SQL, conditions, queries

FOLDER = Path(claude_mem.store.sqlite.__file__).parent
PARTS = Path(claude_mem.store.relational.__file__).parent
MODULES = [*FOLDER.glob("*.py"), *PARTS.glob("*.py"), FOLDER.parent / "outbox.py"]
FILES = [*SQL.glob("*.sql"), *(PARTS / "sql").glob("*.sql")]
LARGE = (
    "pending_messages",
    "sdk_sessions",
    "user_prompts",
    "observations",
    "session_summaries",
    "queue_heads",
    "spending",
    "observation_sightings",
    "memory_files",
    "memory_vectors",
    "injections",
)
WALKS = {
    "oldest_ready": "along an index, and stops at its first entry",
    "newest_matches": "the index of words has its own order",
    "list_observation": "the beginning of a statement: its conditions come later (see below)",
    "list_summary": "likewise",
    "list_prompt": "likewise",
    "list_evidence": "likewise",
    "list_session": "likewise",
    "keys_observation": "likewise",
    "keys_summary": "likewise",
    "keys_prompt": "likewise",
    "keys_evidence": "likewise",
    "count_observation": "counts a list, and says so; asked for once, not with each page",
    "count_summary": "likewise",
    "count_prompt": "likewise",
    "count_evidence": "likewise",
    "count_sessions": "likewise",
    "memory_figures": "counts everything, and says so",
    "injection_figures": "likewise",
    "count_vectors": "likewise",
    "remove_some_vectors": "a few, whichever come first",
    "all_observation": "who forgets by text alone asks of everything; it may take its time",
    "all_summary": "likewise",
    "all_prompt": "likewise",
    "all_evidence": "likewise",
    "injections_naming": "one look at each, in the order they are wanted; asked for one memory",
    "times_injected": "likewise",
    "branches_of": "sessions are few beside what is in them; asked once for a page",
    "clients_of": "likewise",
    "all_clients": "likewise; asked for a name that is no agent's",
    "authors_of": "likewise; asked once for a page",
    "authors": "likewise; asked for a name",
    "concepts_of_all": "along an index, and stops",
    "strike_from_injections": "names are struck out of everything that holds them",
    "chosen_sessions": "an export is of everything, unless it is narrowed",
    "export_observations": "likewise; along an index, so that nothing is sorted",
    "export_summaries": "likewise",
    "past_waiting": "over what waits only",
}
"""Those that may, and why."""


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript((FOLDER / "schema.sql").read_text())
        yield db


def explained(db: sqlite3.Connection, statement: str) -> list[str]:
    parameters = dict.fromkeys(re.findall(r":(\w+)", statement), 1)
    return [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)]


def test_every_query_fits_the_schema(db: sqlite3.Connection, subtests: pytest.Subtests) -> None:
    for name, statement in queries().items():
        with subtests.test(name):
            explained(db, statement)


def test_no_query_walks_over_a_table_that_grows(db: sqlite3.Connection, subtests: pytest.Subtests) -> None:
    for name, statement in queries().items():
        with subtests.test(name):
            walks = [step for step in explained(db, statement) if step.startswith("SCAN")]
            aliases = re.findall(r"(?:FROM|JOIN) (\w+) AS (\w+)", statement)
            large = {*LARGE, *(alias for table, alias in aliases if table in LARGE)}
            walked = [step for step in walks if step.split()[1] in large]
            assert not walked or name in WALKS


def test_no_excuse_outlives_its_query() -> None:
    assert WALKS.keys() <= queries().keys()


@pytest.mark.parametrize("kind", ["observation", "summary", "prompt", "session"])
def test_a_list_without_conditions_goes_along_an_index_and_sorts_nothing(
    db: sqlite3.Connection, kind: str
) -> None:
    order = conditions()["last_active_first" if kind == "session" else "newest_first"]
    steps = explained(db, f"{queries()[f'list_{kind}'].rstrip(';')} {order}")
    assert "USING" in steps[0]
    assert not [step for step in steps if "TEMP B-TREE FOR ORDER BY" in step]


OF_SESSIONS = ("last_active_first", "where_less_active")


@pytest.mark.parametrize("name", conditions())
def test_every_condition_fits_the_lists_it_is_meant_for(db: sqlite3.Connection, name: str) -> None:
    condition = conditions()[name]
    statement = "list_summary" if condition.startswith(("s.", "COALESCE(s.")) else "list_observation"
    if name in OF_SESSIONS or (
        name.startswith("where_") and name.endswith("_session") and name != "where_session"
    ):
        statement = "list_session"
    where = "WHERE " if name.startswith("where_") else ""
    explained(db, f"{queries()[statement].rstrip(';')} {where}{condition}")


@pytest.mark.parametrize(
    ("names", "plan"),
    [
        (["where_project_id_observation"], "COVERING INDEX observations_by_project_id (project_id=?)"),
        (
            ["where_project_id_observation", "where_since"],
            "COVERING INDEX observations_by_project_id (project_id=? AND created_at_epoch>?)",
        ),
        (
            ["where_project_id_observation", "where_type"],
            "COVERING INDEX observations_by_type (type=? AND project_id=?)",
        ),
        (["where_project_id_observation", "where_current"], "INDEX observations_current (project_id=?)"),
    ],
)
def test_a_projects_list_goes_by_time_along_an_index_and_passes_over_no_row(
    db: sqlite3.Connection, names: list[str], plan: str
) -> None:
    where = " AND ".join(conditions()[name] for name in names)
    listed, counted = (queries()[f"{what}_observation"].rstrip(";") for what in ("list", "count"))
    assert explained(db, f"{listed} WHERE {where} {conditions()['newest_first']}") == [
        f"SEARCH m USING {plan}"
    ]
    assert explained(db, f"{counted} WHERE {where}") == [f"SEARCH m USING {plan}"]


@pytest.mark.parametrize(
    ("name", "by"),
    [
        ("where_pinned", "INTEGER PRIMARY KEY (rowid=?)"),
        ("where_wrong", "INTEGER PRIMARY KEY (rowid=?)"),
        ("where_about", "INTEGER PRIMARY KEY (rowid=?)"),
        ("where_session", "INDEX observations_by_session (session_id=?)"),
    ],
)
def test_of_a_project_the_few_that_are_meant_are_looked_at_and_no_others(
    db: sqlite3.Connection, name: str, by: str
) -> None:
    where = f"{conditions()['where_besides']} AND {conditions()[name]}"
    for statement in (
        f"{queries()['count_observation'].rstrip(';')} WHERE {where}",
        f"{queries()['list_observation'].rstrip(';')} WHERE {where} {conditions()['newest_first']}",
    ):
        steps = explained(db, statement)
        assert steps[0] == f"SEARCH m USING {by}"
        assert not [step for step in steps if step == "SCAN observations"]


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("observation", ["where_types", "where_right"]),
        (
            "observation",
            ["where_since", "where_current", "where_client_observation", "where_branch_observation"],
        ),
        ("observation", ["where_concepts"]),
        ("observation", ["where_since", "where_authors_observation"]),
        ("summary", ["where_authors"]),
        ("summary", ["where_since", "where_branch", "where_client"]),
        ("prompt", ["where_until", "where_branch", "where_client"]),
        ("evidence", ["where_since", "where_branch_evidence", "where_client"]),
    ],
)
def test_whether_some_memories_pass_is_asked_of_their_rows_alone(
    db: sqlite3.Connection, kind: str, names: list[str]
) -> None:
    where = " AND ".join(conditions()[name] for name in ("where_about", *names))
    statement = f"{queries()[f'keys_{kind}'].rstrip(';')} WHERE {where} {conditions()['no_more']}"
    steps = explained(db, statement)
    assert steps[0] == "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)"
    walks = [
        step for step in steps if step.startswith("SCAN") and "json_each" not in step and " c " not in step
    ]
    assert walks in ([], ["SCAN sdk_sessions"]), "sessions are few beside what is in them"


@pytest.mark.parametrize(
    ("names", "step"),
    [
        (
            ["where_project_id_observation", "where_type", "where_right"],
            "observations_by_type (type=? AND project_id=?)",
        ),
        (
            ["where_project_id_observation", "where_since"],
            "observations_by_project_id (project_id=? AND created_at_epoch>?)",
        ),
        (["where_besides", "where_session"], "observations_by_session (session_id=?)"),
    ],
)
def test_the_few_that_pass_are_listed_along_an_index(
    db: sqlite3.Connection, names: list[str], step: str
) -> None:
    where = " AND ".join(conditions()[name] for name in names)
    statement = f"{queries()['keys_observation'].rstrip(';')} WHERE {where} {conditions()['no_more']}"
    assert explained(db, statement)[0] == f"SEARCH m USING INDEX {step}"


@pytest.mark.parametrize("name", ["types_of_project", "project_figures", "projects_with_figures"])
def test_observations_are_counted_in_an_index(db: sqlite3.Connection, name: str) -> None:
    steps = [step for step in explained(db, queries()[name]) if "INDEX observations_" in step]
    assert steps
    assert all("USING COVERING INDEX" in step for step in steps)


@pytest.mark.parametrize(
    ("name", "plan"),
    [
        *(
            (
                name,
                "INDEX observations_by_content"
                " (project_id=? AND content_key=? AND created_at_epoch>? AND created_at_epoch<?)",
            )
            for name in ("same_content", "same_content_later")
        ),
        ("current_observations", "INDEX observations_current (project_id=? AND created_at_epoch<?)"),
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


def named_in_code() -> list[re.Pattern[str]]:
    """Every name the code says, also those it puts together: f"last_{kind}" is `last_` and some word."""
    texts = [path.read_text() for path in MODULES]
    plain = [re.escape(name) for text in texts for name in re.findall(r'"(\w+)"', text)]
    built = [
        name
        for text in texts
        for name in re.findall(r'(?:execute\(db, |queries\[|\()f"((?:\w|\{[^{}"]*\})+)"', text)
    ]
    made = ["[a-z]*_?".join(map(re.escape, re.split(r"\{[^}]*\}", name))) for name in built]
    return [re.compile(name) for name in (*plain, *made)]


USED = named_in_code()


def without_kind(condition: str) -> str:
    """`where_branch` of `where_branch_evidence`, by which the latter is found."""
    return re.sub(r"(?<=where_)(\w+)_(?:observation|summary|prompt|evidence|session)$", r"\1", condition)


def test_every_query_is_used() -> None:
    code = "".join(path.read_text() for path in MODULES)
    unused = [
        name
        for name in (*queries(), *map(without_kind, conditions()))
        if not any(pattern.fullmatch(name) for pattern in USED)
        and f"queries['{name}']" not in code
        and f"conditions['{name}']" not in code
    ]
    assert unused == []


def test_every_query_says_what_it_is_for() -> None:
    text = "\n".join(path.read_text() for path in FILES)
    entries = re.findall(r"^-- name: (\S+)\n-- \w.+\.\n", text, re.MULTILINE)
    assert sorted(_each_kind(entries)) == sorted({*queries(), *conditions()})


def test_no_name_is_used_twice() -> None:
    text = "\n".join(path.read_text() for path in FILES)
    names = re.findall(r"^-- name: (\S+)$", text, re.MULTILINE)
    assert sorted(_each_kind(names)) == sorted({*queries(), *conditions()})


def _each_kind(names: list[str]) -> Iterator[str]:
    for name in names:
        yield from {name.replace("{kind}", kind) for kind in KINDS}


def test_every_file_of_queries_belongs_to_a_module() -> None:
    assert {path.stem for path in FILES} - {"conditions"} <= {path.stem for path in MODULES}


def test_no_other_file_of_the_store_speaks_sql() -> None:
    words = re.compile(r"\b(SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|CREATE TABLE)\b")
    assert not [path.name for path in MODULES if words.search(path.read_text())]


def test_the_files_of_memories_and_all_folders_are_read_from_indexes_alone(db: sqlite3.Connection) -> None:
    for name in ("files_about", "all_folders"):
        reads = [step for step in explained(db, queries()[name]) if "memory_files" in step]
        assert reads
        assert all("USING COVERING INDEX" in step for step in reads)


def test_few_memories_are_looked_up_in_the_text_or_walked_to(db: sqlite3.Connection) -> None:
    def is_by_key(name: str) -> bool:
        (step,) = [step for step in explained(db, queries()[name]) if "memory_text" in step]
        return "=" in step

    assert is_by_key("probed_matches")
    assert not is_by_key("matches_among")
