"""Matching at a bounded cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, SettableClock

from claude_mem.model.full_text import expressions
from claude_mem.model.memory import Observation
from claude_mem.model.refs import ref_at, span
from claude_mem.ports.library import Matches, Wording
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.indexing import Indexing
from claude_mem.store.sqlite.keeping import SqliteKeeping
from claude_mem.store.sqlite.library import SqliteLibrary
from claude_mem.store.sqlite.matching import size_of_all


class Book:
    def __init__(self, store: SqliteStore, clock: SettableClock) -> None:
        self._keeping = SqliteKeeping(store.readers, store.writer, clock)
        self._indexing = Indexing(store.readers, store.writer)
        self._library = SqliteLibrary(store.readers)
        self.store = store

    def write(self, *titles: str) -> None:
        for number, title in enumerate(titles):
            at = NOON + number
            self._keeping.remember(Observation("change", title), ORIGIN, session="s", at=at)
        self._indexing.catch_up()

    def look_up(self, query: str, most_rows: int = 20_000, within: tuple[int, int] | None = None) -> Matches:
        return self._library.match(Wording(*expressions(query), most_rows=most_rows), within)


@pytest.fixture
def book(open_store: Callable[[], SqliteStore], clock: SettableClock) -> Iterator[Book]:
    with open_store() as store:
        yield Book(store, clock)


def found(matches: Matches) -> dict[str, list[int]]:
    return {each.expression: [ref_at(spot).id for spot in each.scores] for each in matches.matched}


def test_each_word_says_what_it_found(book: Book) -> None:
    book.write("red fox", "red hen", "blue hen")
    assert found(book.look_up("red hen zebra")) == {'"red"': [1, 2], '"hen"': [2, 3], '"zebra"*': []}


def test_a_word_found_nowhere_is_taken_for_a_beginning_and_one_that_is_found_is_not(book: Book) -> None:
    book.write("authentication", "auth", "kiosks")
    assert found(book.look_up("authentic")) == {'"authentic"*': [1]} or found(book.look_up("authentic")) == {
        '"authentic"': [1]
    }
    assert found(book.look_up("auth")) == {'"auth"': [2]}
    assert found(book.look_up("kio")) == {'"kio"*': [3]}


def test_a_word_that_is_everywhere_is_left_out_when_rarer_ones_are_there(book: Book) -> None:
    book.write(*(f"common thing {n}" for n in range(30)), "common rarity")
    assert found(book.look_up("common rarity", most_rows=10)) == {'"rarity"': [31]}


def test_a_query_of_frequent_words_alone_is_answered_with_the_newest(book: Book) -> None:
    book.write("common", *(f"common thing {n}" for n in range(30)))
    matches = book.look_up("common thing", most_rows=10)
    (both,) = matches.matched
    assert next(ref_at(spot).id for spot in both.scores) == 31
    assert len(both.scores) == 30, "those that have all of its words"


def test_a_phrase_is_told_apart_from_its_words(book: Book) -> None:
    book.write("dry run", "run dry")
    phrases = [each for each in book.look_up("--dry-run").matched if each.is_phrase]
    assert [[ref_at(spot).id for spot in each.scores] for each in phrases] == [[1]]


def test_the_index_says_itself_how_many_there_are(book: Book) -> None:
    for titles in ((), ("a",), tuple(f"b{n}" for n in range(200))):
        book.write(*titles)
        with book.store.readers.read() as db:
            (rows,) = db.execute("SELECT COUNT(*) FROM memory_text_docsize").fetchone()
            assert size_of_all(db) == rows


def test_in_a_span_that_is_all_there_is_words_weigh_as_they_do_without_one(book: Book) -> None:
    book.write("red fox", "red hen", *(f"plain {n}" for n in range(20)))
    everywhere, here = book.look_up("red fox"), book.look_up("red fox", within=span(1))
    order = [sorted(each.scores, key=lambda spot: -each.scores[spot]) for each in everywhere.matched]
    assert order == [sorted(each.scores, key=lambda spot: -each.scores[spot]) for each in here.matched]
    assert all(0 < score < 20 for each in here.matched for score in each.scores.values())
    assert everywhere.total == here.total == 22
