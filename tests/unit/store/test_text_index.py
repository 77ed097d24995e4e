"""The index follows the rows."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, Events, SettableClock, new_events

from claude_mem.model.events import Kind, ToolCall
from claude_mem.model.full_text import query_words
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Ref, kind_at, ref_at
from claude_mem.store.sqlite import SqliteStore, text_index
from claude_mem.store.sqlite.connection import SqliteConnection
from claude_mem.store.sqlite.text_index import STEP, UNHURRIED, TextIndex, size_of_all
from claude_mem.store.values import TextMatches, TextQuery


@pytest.fixture
def store(open_store: Callable[[], SqliteStore]) -> Iterator[SqliteStore]:
    with open_store() as store:
        yield store


@pytest.fixture
def index(store: SqliteStore) -> TextIndex:
    return store.text_index


@pytest.fixture
def keep(store: SqliteStore, clock: SettableClock) -> Callable[[str], Ref]:
    keeping = store

    def kept(title: str) -> Ref:
        return keeping.memories.remember(Observation("change", title), ORIGIN, session="s", at=NOON)[0]

    return kept


def finds(store: SqliteStore, word: str) -> int:
    matches = store.memories.match(TextQuery((word,)), None)
    return sum(len(each.scores) for each in matches.matched)


def content(store: SqliteStore) -> tuple[list[Any], ...]:
    """All that the index knows: every word's place, and every file."""

    def read(db: sqlite3.Connection) -> tuple[list[Any], ...]:
        db.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, memory_text, instance)")
        words = [tuple(row) for row in db.execute("SELECT * FROM temp.words ORDER BY 1, 2, 3, 4")]
        db.execute("DROP TABLE temp.words")
        files = [tuple(row) for row in db.execute("SELECT * FROM memory_files ORDER BY 1, 2, 3")]
        return words, files

    return store.writer.run(read)


def segments(store: SqliteStore) -> int:
    with store.readers.read() as db:
        (count,) = db.execute("SELECT COUNT(DISTINCT segid) FROM memory_text_idx").fetchone()
    return int(count)


def test_an_index_that_is_tidied_has_few_segments_and_finds_the_same(
    store: SqliteStore, index: TextIndex, keep: Callable[[str], Ref]
) -> None:
    index.prepare()
    for number in range(43):
        keep(f"heron {number}")
        index.catch_up()
    before, found = content(store), finds(store, "heron")
    assert segments(store) > 6
    while index.tidy():
        pass
    assert segments(store) <= 6, "at most one of each size, and sizes double"
    assert content(store) == before
    assert finds(store, "heron") == found == 43


def test_a_tidy_index_is_not_written_until_something_is_indexed(
    store: SqliteStore, index: TextIndex, keep: Callable[[str], Ref]
) -> None:
    index.prepare()
    keep("heron")
    index.catch_up()
    while index.tidy():
        pass
    before = store.writer.run(lambda db: db.total_changes)
    assert not index.tidy()
    assert store.writer.run(lambda db: db.total_changes) == before
    for title in ("ibis", "egret"):
        keep(title)
        index.catch_up()
    assert index.tidy()


def test_an_index_is_told_once_to_merge_two_segments(store: SqliteStore, index: TextIndex) -> None:
    index.prepare()
    before = store.writer.run(lambda db: db.total_changes)
    index.prepare()
    assert store.writer.run(lambda db: db.total_changes) == before


def test_what_is_accepted_and_settled_is_found(store: SqliteStore, index: TextIndex, events: Events) -> None:
    tool = ToolCall("Bash", '{"command": "zebra"}', "", "t1")
    store.events.accept(new_events(events.prompt("a quokka"), events.make(Kind.TOOL_USE, tool=tool)))
    lease = store.queue.lease(10)
    assert lease is not None
    store.queue.settle(lease, Findings((Observation("change", "an ocelot"),), (Summary(request="a lemur"),)))
    with store.readers.read() as db:
        assert text_index.unindexed_count(db) == 5
    index.catch_up()
    assert [finds(store, word) for word in ("quokka", "zebra", "ocelot", "lemur")] == [1, 1, 1, 1]
    with store.readers.read() as db:
        assert text_index.unindexed_count(db) == 0
    assert index.step() == 0


def test_a_private_turn_leaves_no_word_in_the_index(
    store: SqliteStore, index: TextIndex, events: Events
) -> None:
    store.events.accept(new_events(events.prompt(None, private=True), events.tool(private=True)))
    index.catch_up()
    assert content(store) == ([], [])


def test_a_step_is_short_and_many_of_them_lose_nothing(
    store: SqliteStore, index: TextIndex, keep: Callable[[str], Ref]
) -> None:
    for number in range(2 * STEP + 5):
        keep(f"common {number}")
    assert [index.step(), index.step(), index.step(), index.step()] == [STEP, STEP, 5, 0]
    assert finds(store, "common") == 2 * STEP + 5


def test_when_nobody_waits_a_step_is_larger_but_holds_no_more_text_than_before(
    store: SqliteStore, index: TextIndex, keep: Callable[[str], Ref], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_index, "STEP", 3)
    for number in range(3 * UNHURRIED + 1):
        keep(f"common {number}")
    assert [index.step(hurried=False), index.step(hurried=False)] == [3 * UNHURRIED, 1]
    index.rebuild()
    monkeypatch.setattr(text_index, "MOST_TEXT", 1)
    assert [index.step(hurried=False), index.step()] == [1, 1]
    index.catch_up()
    assert finds(store, "common") == 3 * UNHURRIED + 1


def test_what_changed_while_it_was_being_read_is_not_written_but_read_again(
    store: SqliteStore, index: TextIndex, keep: Callable[[str], Ref]
) -> None:
    keep("first heron")
    with store.readers.read() as db:
        drafts = text_index._draft(db, STEP)
    assert drafts is not None

    def reword(db: SqliteConnection) -> None:
        text_index.take_out(db, [Ref("observation", 1)])
        db.execute("UPDATE observations SET title = 'an egret' WHERE id = 1")
        text_index.reindex(db, [Ref("observation", 1)])

    store.writer.run(reword)
    index._write(drafts)
    assert finds(store, "heron") == 0
    index.catch_up()
    assert (finds(store, "heron"), finds(store, "egret")) == (0, 1)


def test_two_who_read_the_same_write_it_once(
    store: SqliteStore, index: TextIndex, keep: Callable[[str], Ref]
) -> None:
    keep("a heron")
    store.writer.run(
        lambda db: db.execute("UPDATE observations SET files_read = '[\"a.py\"]'").rowcount
    )  # and a file, of which no row is written twice
    with store.readers.read() as db:
        drafts = text_index._draft(db, STEP)
    assert drafts is not None
    index.catch_up()
    before = content(store)
    index._write(drafts)
    assert content(store) == before


def test_a_row_that_is_changed_is_found_by_its_new_words_only(
    store: SqliteStore, index: TextIndex, keep: Callable[[str], Ref]
) -> None:
    ref = keep("parseUser in src/heron.py")
    index.catch_up()

    def reword(db: SqliteConnection) -> None:
        text_index.take_out(db, [ref])
        db.execute(
            "UPDATE observations SET title = 'egret', files_read = '[\"a.py\"]' WHERE id = ?", (ref.id,)
        )
        text_index.reindex(db, [ref])

    store.writer.run(reword)
    words, files = content(store)
    assert {row[0] for row in words} == {"egret", "a", "py"}
    assert [row[0] for row in files] == ["a.py"]


def test_what_is_taken_out_leaves_nothing_even_if_the_session_has_moved_since(
    store: SqliteStore, index: TextIndex, events: Events
) -> None:
    """A working directory that becomes known later makes other paths of the same files."""
    store.events.accept(new_events(events.make(Kind.STOP, text="x")))
    lease = store.queue.lease(1)
    assert lease is not None
    store.queue.settle(
        lease, Findings((Observation("change", "x", files_modified=("/home/a/shop/src/b.py",)),))
    )
    index.catch_up()
    store.events.accept(new_events(events.make(Kind.STOP, cwd="/home/a/shop", text="x")))
    store.writer.run(lambda db: text_index.take_out(db, [Ref("observation", 1), Ref("evidence", 1)]))
    assert content(store) == ([], [])


def test_an_index_of_another_version_is_made_anew_and_one_of_this_is_kept(
    store: SqliteStore, index: TextIndex, keep: Callable[[str], Ref]
) -> None:
    keep("a heron")
    index.prepare()
    index.catch_up()
    index.prepare()
    assert finds(store, "heron") == 1, "nothing to do"
    store.writer.run(
        lambda db: db.execute("UPDATE derived SET value = '0' WHERE name = 'text_version'").rowcount
    )
    index.prepare()
    assert finds(store, "heron") == 0
    index.catch_up()
    assert finds(store, "heron") == 1


INDEX_FOREVER = """
import sys
from pathlib import Path
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.connection import SqliteConnection
from claude_mem.store.sqlite.text_index import TextIndex
database = Path(sys.argv[1])
store = SqliteStore.open(database, clock=lambda: 1_760_000_000_000, backups=database.parent / "backups")
index = TextIndex(store.readers, store.writer)
index.prepare()
print("ready", flush=True)
while True:
    index.rebuild()
    while index.step():
        print("step", flush=True)
"""


@pytest.mark.parametrize(
    "after_steps", [2, *(pytest.param(steps, marks=pytest.mark.prove) for steps in (1, 4, 7))]
)
def test_killed_at_work_the_index_catches_up_to_what_a_new_one_would_be(
    open_store: Callable[[], SqliteStore], database: Path, clock: SettableClock, after_steps: int
) -> None:
    with open_store() as store:
        keeping = store
        for number in range(2 * STEP + 40):
            seen = Observation("change", f"heron {number}", files_modified=(f"src/{number}.py",))
            keeping.memories.remember(seen, ORIGIN, session=f"s{number % 9}", at=NOON)
    indexer = subprocess.Popen(
        [sys.executable, "-c", INDEX_FOREVER, str(database)], stdout=subprocess.PIPE, text=True
    )
    assert indexer.stdout is not None
    for _ in range(1 + after_steps):
        indexer.stdout.readline()
    indexer.send_signal(signal.SIGKILL)
    indexer.wait()
    indexer.stdout.close()
    with open_store() as store:
        assert store.recovered is None
        index = store.text_index
        index.prepare()
        index.catch_up()
        caught_up = content(store)
        index.rebuild()
        index.catch_up()
        assert caught_up == content(store)
        assert len(caught_up[1]) == 2 * STEP + 40


# Matching at a bounded cost.


class Book:
    def __init__(self, store: SqliteStore, clock: SettableClock) -> None:
        self._keeping = store
        self._indexing = store.text_index
        self._library = store.memories
        self.store = store

    def write(self, *titles: str) -> None:
        for number, title in enumerate(titles):
            at = NOON + number
            self._keeping.memories.remember(Observation("change", title), ORIGIN, session="s", at=at)
        self._indexing.catch_up()

    def look_up(self, query: str, most_rows: int = 20_000, project_id: int | None = None) -> TextMatches:
        return self._library.match(TextQuery(*query_words(query), most_rows=most_rows), project_id)


@pytest.fixture
def book(open_store: Callable[[], SqliteStore], clock: SettableClock) -> Iterator[Book]:
    with open_store() as store:
        yield Book(store, clock)


def found(matches: TextMatches) -> dict[str, list[int]]:
    return {each.word: [ref_at(memory_key).id for memory_key in each.scores] for each in matches.matched}


def test_each_word_says_what_it_found(book: Book) -> None:
    book.write("red fox", "red hen", "blue hen")
    assert found(book.look_up("red hen zebra")) == {"red": [1, 2], "hen": [2, 3], "zebra*": []}


def test_a_word_found_nowhere_is_taken_for_a_beginning_and_one_that_is_found_is_not(book: Book) -> None:
    book.write("authentication", "auth", "kiosks")
    assert found(book.look_up("authentic")) in ({"authentic*": [1]}, {"authentic": [1]})
    assert found(book.look_up("auth")) == {"auth": [2]}
    assert found(book.look_up("kio")) == {"kio*": [3]}


def test_a_word_that_is_everywhere_is_looked_for_only_where_a_rarer_one_is(book: Book) -> None:
    book.write(*(f"common thing {n}" for n in range(30)), "common rarity", "rarity alone")
    matches = book.look_up("common rarity", most_rows=10)
    assert found(matches) == {"rarity": [31, 32], "common": [31]}
    assert {each.word: each.rows for each in matches.matched} == {"rarity": None, "common": 31}


def test_what_a_tool_was_given_is_told_apart_from_what_was_said(store: SqliteStore, events: Events) -> None:
    tool = ToolCall("Bash", '{"command": "make walrus"}', "walrus made", "t1")
    store.events.accept(new_events(events.prompt("make the walrus"), events.make(Kind.TOOL_USE, tool=tool)))
    store.text_index.catch_up()
    (walrus,) = store.memories.match(TextQuery(("walrus",)), None).matched
    assert {kind_at(key) for key in walrus.scores} == {"prompt", "evidence"}
    assert {kind_at(key) for key in walrus.prose} == {"prompt"}


def test_a_query_of_frequent_words_alone_is_answered_with_the_newest(book: Book) -> None:
    book.write("common", *(f"common thing {n}" for n in range(30)))
    matches = book.look_up("common thing", most_rows=10)
    (both,) = matches.matched
    assert next(ref_at(memory_key).id for memory_key in both.scores) == 31
    assert len(both.scores) == 30, "those that have all of its words"


def test_a_phrase_is_told_apart_from_its_words(book: Book) -> None:
    book.write("dry run", "run dry")
    phrases = [each for each in book.look_up("--dry-run").matched if each.is_phrase]
    assert [[ref_at(memory_key).id for memory_key in each.scores] for each in phrases] == [[1]]


def test_the_index_says_itself_how_many_there_are(book: Book) -> None:
    for titles in ((), ("a",), tuple(f"b{n}" for n in range(200))):
        book.write(*titles)
        with book.store.readers.read() as db:
            (rows,) = db.execute("SELECT COUNT(*) FROM memory_text_docsize").fetchone()
            assert size_of_all(db) == rows


def test_in_a_span_that_is_all_there_is_words_weigh_as_they_do_without_one(book: Book) -> None:
    book.write("red fox", "red hen", *(f"plain {n}" for n in range(20)))
    everywhere, here = book.look_up("red fox"), book.look_up("red fox", project_id=1)
    order = [
        sorted(each.scores, key=lambda memory_key: -each.scores[memory_key]) for each in everywhere.matched
    ]
    assert order == [
        sorted(each.scores, key=lambda memory_key: -each.scores[memory_key]) for each in here.matched
    ]
    assert all(0 < score < 20 for each in here.matched for score in each.scores.values())
    assert everywhere.sizes.total == here.sizes.total == 22
