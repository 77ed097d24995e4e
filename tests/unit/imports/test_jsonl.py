"""Any line of JSON with a text becomes an observation; what cannot be read is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.imports.import_target import Memory

from claude_mem.imports import jsonl
from claude_mem.imports.import_report import SourceReport
from claude_mem.model.records import Record

NOW = 1_790_000_000_000


def read(*lines: object, report: SourceReport | None = None) -> list[Record]:
    raw = [line if isinstance(line, str | bytes) else json.dumps(line) for line in lines]
    return list(jsonl.read(raw, at=NOW, clean=str, report=report or SourceReport()))


def observations(records: list[Record]) -> list[Record]:
    return [record for record in records if record["kind"] == "observation"]


def test_a_line_is_taken_with_all_it_says(tmp_path: Path) -> None:
    line = {
        "text": "The cart is kept in a cookie.",
        "title": "Where the cart is",
        "created_at": "2025-03-01T10:00:00Z",
        "project": "shop",
        "type": "decision",
        "files": ["src/cart.py"],
        "tags": ["cookies"],
    }
    memory = Memory(tmp_path)
    assert memory.take(read(line)).taken == {"project": 1, "session": 1, "observation": 1}
    (kept,) = memory.holds("observation")
    assert (kept["title"], kept["narrative"]) == ("Where the cart is", "The cart is kept in a cookie.")
    assert (kept["type"], kept["at"]) == ("decision", 1_740_823_200_000)
    assert (kept["files_read"], kept["concepts"]) == (["src/cart.py"], ["cookies"])
    assert kept["source"] == "external"
    assert [each["key"] for each in memory.holds("project")] == ["name:shop"]
    assert memory.take(read(line)).taken == {}


@pytest.mark.parametrize(
    "line",
    [
        {"content": "words"},
        {"memory": "words", "timestamp": 1_740_823_200},
        {"body": "words", "type": "how-it-works"},
        {"title": "words"},
    ],
)
def test_other_names_for_the_same_do_as_well(line: dict[str, object], tmp_path: Path) -> None:
    report = SourceReport()
    (found,) = observations(read(line, report=report))
    assert "words" in (found["title"], found["narrative"])
    assert found["type"] == "discovery"
    assert found["at"] == (1_740_823_200_000 if "timestamp" in line else NOW)
    assert bool(report.remapped) == ("type" in line)
    assert Memory(tmp_path).take(read(line)).refused == ()


def test_what_cannot_be_read_is_counted_and_the_rest_is_taken() -> None:
    report = SourceReport()
    found = read(
        "{not json", b"\xff\xfe", "[1]", "", "[" * 100_000, {"no": "text"}, {"text": "words"}, report=report
    )
    assert len(observations(found)) == 1
    assert report.skipped == {("line", "unreadable"): 4, ("line", "no text"): 1}


def test_a_long_text_without_a_title_is_called_by_its_beginning() -> None:
    (found,) = observations(read({"text": "\n" + "word " * 100}))
    assert len(found["title"]) <= jsonl.MOST_TITLE
    assert found["title"].endswith("…")


@given(
    st.dictionaries(
        st.sampled_from([*jsonl.TEXT, *jsonl.AT, *jsonl.FILES, "title", "type", "project", "facts"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=3
        ),
    )
)
def test_whatever_a_line_holds_it_is_taken_or_counted(line: dict[str, object]) -> None:
    report = SourceReport()
    found = observations(read(line, report=report))
    assert len(found) + report.skipped.total() == 1
    assert all(0 < each["at"] < 253_402_300_800_000 for each in found)
