"""The agent's own notes become memory: a section each, known again by its content."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

import pytest
from tests.unit.imports.import_target import Memory

from claude_mem.imports import memory_notes
from claude_mem.imports.import_report import SourceReport
from claude_mem.model.events import Origin
from claude_mem.model.memory import Observation, content_key
from claude_mem.model.records import Record

SHOP = Origin("example.com/shop", "shop", "/home/u/shop")
AT = 1_700_000_000
INDEX = """# Memory

- [Testing](testing.md) — how the tests are run
- [Elsewhere](../secrets.md)
- [Instructions](CLAUDE.md)
- [A site](https://example.com/page.md)

## Build
Run `make`, never `make all`:
it takes an hour.

Needs Python 3.11.

- The cache is in `.cache`
  and may be deleted
- It is not in git

## Empty
"""
TESTING = """---
name: testing
description: How the tests are run
type: feedback
---
Run them with `pytest -q`.

```sh
# no heading
pytest -q
```
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "projects" / "-home-u-shop" / "memory"
    found.mkdir(parents=True)
    for name, text, at in (("MEMORY.md", INDEX, AT), ("testing.md", TESTING, AT + 60)):
        (found / name).write_text(text)
        os.utime(found / name, (at, at))
    (found / "CLAUDE.md").write_text("# Always\nDo as I say.")
    (found.parent / "secrets.md").write_text("# Secret\nOutside.")
    return found


def read(path: Path, report: SourceReport | None = None, known: Collection[str] = ()) -> list[Record]:
    return list(memory_notes.read(path, SHOP, clean=str, report=report or SourceReport(), known=known))


def keys(records: list[Record]) -> set[str | None]:
    said = [record for record in records if record["kind"] == "observation"]
    return {
        content_key(Observation(each["type"], each["title"], None, each["narrative"], tuple(each["facts"])))
        for each in said
    }


def test_each_section_is_an_observation_with_the_files_time(folder: Path, tmp_path: Path) -> None:
    memory, report = Memory(tmp_path), SourceReport()
    assert memory.take(read(folder, report)).refused == ()
    build, testing = memory.holds("observation")
    assert (build["title"], build["type"], build["at"]) == ("Build", "discovery", AT * 1000)
    assert build["narrative"] == "Run `make`, never `make all`:\nit takes an hour.\n\nNeeds Python 3.11."
    assert build["facts"] == ["The cache is in `.cache`\nand may be deleted", "It is not in git"]
    assert (testing["title"], testing["type"]) == ("How the tests are run", "decision")
    assert testing["at"] == (AT + 60) * 1000
    assert "# no heading" in testing["narrative"]
    assert {build["source"], testing["source"]} == {"work"}
    assert report.skipped == {("note", "outside the folder"): 1}


def test_the_file_may_be_named_instead_of_its_folder(folder: Path) -> None:
    assert read(folder / "MEMORY.md") == read(folder)


def test_a_touched_file_brings_nothing_that_is_known(folder: Path) -> None:
    known = keys(read(folder))
    os.utime(folder / "MEMORY.md", (AT + 3600, AT + 3600))
    report = SourceReport()
    assert read(folder, report, [key for key in known if key]) == []
    assert report.skipped[("note", "already imported")] == 2
    (folder / "MEMORY.md").write_text(INDEX.replace("3.11", "3.12"))
    changed = [each for each in read(folder, known=[key for key in known if key]) if "narrative" in each]
    assert ["3.12" in str(each["narrative"]) for each in changed] == [True]


def test_links_that_go_round_end(folder: Path) -> None:
    (folder / "testing.md").write_text("# A\nsee [b](b.md) and [a](testing.md)")
    (folder / "b.md").write_text("# B\nsee [a](testing.md), [index](MEMORY.md) and [none](none.md)")
    report = SourceReport()
    titles = [each["title"] for each in read(folder, report) if each["kind"] == "observation"]
    assert sorted(titles) == ["A", "B", "Build"]
    assert report.skipped[("note", "unreadable")] == 1


def test_a_link_out_of_the_folder_is_not_followed(folder: Path) -> None:
    (folder / "testing.md").unlink()
    (folder / "testing.md").symlink_to(folder.parent / "secrets.md")
    assert "Outside" not in str(read(folder))


def test_no_notes_are_none(tmp_path: Path) -> None:
    assert read(tmp_path) == []
    (tmp_path / "MEMORY.md").write_text("# Nothing yet\n\n")
    assert read(tmp_path) == []


def test_secrets_are_cleaned(folder: Path) -> None:
    (folder / "MEMORY.md").write_text("# About SECRET\nIt is SECRET.\n- SECRET")
    cleaned = memory_notes.read(
        folder, SHOP, clean=lambda text: text.replace("SECRET", "[gone]"), report=SourceReport()
    )
    assert "[gone]" in (said := str(list(cleaned)))
    assert "SECRET" not in said
