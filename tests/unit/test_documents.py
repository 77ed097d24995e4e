"""docs/documents.md: a row for each of the documents' demands, and what it names is there."""

import re
import sqlite3
from pathlib import Path

import pytest

from claude_mem.cli.commands import COMMANDS
from claude_mem.serve.http.app import TABLE
from claude_mem.settings.declarations import SETTINGS
from claude_mem.store.sqlite import schema

ROOT = Path(__file__).resolve().parents[2]
DEMANDS = 123
ROW = re.compile(r"^\| (\d+) \| (.+?) \| (as specified|differently|not) \| (.*?) \| (.*?) ?\|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs/documents.md").read_text(encoding="utf-8"))
NAMED = re.compile(r"`([^`]+)`")
ROUTES = {f"{endpoint.method} {endpoint.path}" for endpoint in TABLE}
KEYS = {setting.key for setting in SETTINGS}


def columns() -> set[str]:
    with sqlite3.connect(":memory:") as db:
        db.executescript(Path(schema.__file__).with_name("schema.sql").read_text(encoding="utf-8"))
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        return {f"{table}.{row[1]}" for table in tables for row in db.execute(f"PRAGMA table_info({table})")}


COLUMNS = columns()


def exists(name: str) -> bool:
    """A route, a setting, a command, a column, a test, or a file of the repository."""
    path, _, test = name.partition("::")
    if re.match(r"(GET|POST|DELETE) /", name):
        return name in ROUTES
    if name.startswith("CLAUDE_"):
        return name in KEYS
    if name.startswith("claude-mem "):
        return name.removeprefix("claude-mem ") in COMMANDS
    if test:
        return f"def {test}(" in (ROOT / path).read_text(encoding="utf-8")
    return name in COLUMNS or ("/" in name and (ROOT / name).is_file())


def test_every_demand_has_one_row() -> None:
    assert [int(number) for number, *_ in ROWS] == list(range(1, DEMANDS + 1))


@pytest.mark.parametrize(("number", "where"), [(row[0], row[3]) for row in ROWS])
def test_all_that_a_row_names_is_there(number: str, where: str) -> None:
    named = NAMED.findall(where)
    assert named, number
    assert not NAMED.sub("", where).strip(" ,"), "only names, each in backticks"
    assert [name for name in named if not exists(name)] == []


def test_what_is_not_as_specified_has_its_reason() -> None:
    assert [
        number for number, _, verdict, _, note in ROWS if verdict != "as specified" and len(note) < 25
    ] == []


def test_what_is_not_there_would_be_noticed() -> None:
    names = (
        "GET /nowhere",
        "CLAUDE_MEM_NOTHING",
        "claude-mem nothing",
        "sdk_sessions.nothing",
        "src/nothing.py",
        "tests/unit/test_documents.py::test_nothing",
    )
    assert not any(map(exists, names))
