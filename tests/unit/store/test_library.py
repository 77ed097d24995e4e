"""What SQLite's library must not do, however large the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, SettableClock

from claude_mem.model.memory import Observation
from claude_mem.model.refs import Card, Filters
from claude_mem.store.sqlite import SqliteStore, cards
from claude_mem.store.sqlite import library as library_module
from claude_mem.store.sqlite.indexing import Indexing
from claude_mem.store.sqlite.keeping import SqliteKeeping
from claude_mem.store.sqlite.library import SqliteLibrary


@pytest.fixture
def library(open_store: Callable[[], SqliteStore], clock: SettableClock) -> Iterator[SqliteLibrary]:
    with open_store() as store:
        keeping = SqliteKeeping(store.readers, store.writer, clock)
        for number in range(60):
            seen = Observation(
                "change", f"thing {number}", files_modified=(f"src/dir_{number % 2}/__init__.py",)
            )
            keeping.remember(seen, ORIGIN, session=f"s{number}", at=NOON + number)
        Indexing(store.readers, store.writer).catch_up()
        yield SqliteLibrary(store.readers)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The observations whose rows were made into cards."""
    read: list[int] = []
    made = cards._MAKE["observation"]

    def counted(row: sqlite3.Row) -> Card:
        read.append(row["id"])
        return made(row)

    monkeypatch.setitem(cards._MAKE, "observation", counted)
    return read


def test_a_page_far_down_reads_the_rows_of_that_page_alone(library: SqliteLibrary, read: list[int]) -> None:
    found = library.listed(Filters(), limit=5, offset=50)
    assert [card.title for card in found] == [f"thing {number}" for number in (9, 8, 7, 6, 5)]
    assert len(read) == 5


def test_of_a_file_that_everybody_has_only_the_cards_asked_for_are_made(
    library: SqliteLibrary, read: list[int]
) -> None:
    found = library.touching("__init__.py", Filters(1), 3)
    assert [each.card.title for each in found] == ["thing 59", "thing 58", "thing 57"]
    assert len(read) == 3


def test_files_of_other_folders_do_not_hide_the_one_asked_for(
    library: SqliteLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_module, "LOOKED_AT", 1)
    (found,) = library.touching("dir_0/__init__.py", Filters(1), 3)
    assert found.card.title == "thing 58", "the newest is of the other folder"


def test_files_of_one_name_are_told_apart_by_their_folders(library: SqliteLibrary) -> None:
    assert len(library.touching("__init__.py", Filters(), 100)) == 60
    assert len(library.touching("dir_1/__init__.py", Filters(), 100)) == 30
    assert len(library.beside("src/dir_1", 1)) == 30
    assert library.beside("src/dir%1", 1) == []
