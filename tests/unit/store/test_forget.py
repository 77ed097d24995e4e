"""The indexes after forgetting: as if they had been made of what is left."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, Events, SettableClock, arrivals

from claude_mem.model.events import Kind, ToolCall
from claude_mem.model.memory import Memory, Observation, Summary
from claude_mem.model.refs import Ref
from claude_mem.ports.keeping import Doomed, Selection
from claude_mem.store.sqlite import SqliteStore, indexing, scouring
from claude_mem.store.sqlite.indexing import Indexing
from claude_mem.store.sqlite.keeping import SqliteKeeping

OpenStore = Callable[[], SqliteStore]
WORDS = ("apple", "pear", "plum", "parseUser", "src/till.py", "grün", "日本語", "running", "v2.1.0")
TERMS = ("apple", "pear", "plum", "parseuser", "user", "till", "grun", "日本", "run", '"2 1 0"', "bash", "py")


def index_of(store: SqliteStore) -> tuple[Any, ...]:
    """All that can be asked of the full-text index and the files."""
    with store.readers.read() as db:
        places = [row[0] for row in db.execute("SELECT id FROM memory_text_docsize ORDER BY id")]
        match = "SELECT rowid, bm25(memory_text) FROM memory_text WHERE memory_text MATCH ? ORDER BY rowid"
        found = {term: [tuple(row) for row in db.execute(match, (term,))] for term in TERMS}
        files = [tuple(row) for row in db.execute("SELECT * FROM memory_files ORDER BY 1, 2, 3")]
    store.writer.run(check_integrity)
    return places, found, files


def check_integrity(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO memory_text (memory_text, rank) VALUES ('integrity-check', 0)")


class Player:
    """Does one of all that can happen to a store, as the dice fall."""

    def __init__(self, store: SqliteStore, clock: SettableClock, seed: int) -> None:
        self.store, self.dice, self.events = store, random.Random(seed), Events()
        self.indexing = Indexing(store.readers, store.writer)
        self.keeping = SqliteKeeping(store.readers, store.writer, clock)

    def play(self) -> None:
        move = self.dice.choices(
            (self.work, self.note, self.step, self.forget, self.expire), (6, 2, 4, 3, 1)
        )[0]
        move()

    def work(self) -> None:
        session, said = self.session(), self.said
        tool = ToolCall("Bash", f'{{"command": "{said()}", "path": "/a/{said()}"}}', said(), None)
        made = [
            self.events.prompt(said(), session, cwd="/a"),
            self.events.make(Kind.TOOL_USE, session, tool=tool, cwd="/a"),
            self.events.make(Kind.STOP, session, text=said(), cwd="/a"),
        ]
        self.store.accept(arrivals(*self.dice.sample(made, self.dice.randrange(1, 4))))
        lease = self.store.lease(5) if self.dice.random() < 0.8 else None
        if lease is not None:
            files = (f"/a/{said()}",)
            told = Observation("change", said(), narrative=said(), facts=(said(),), files_modified=files)
            self.store.settle(lease, Memory((told,), (Summary(request=said(), learned=said()),)))

    def note(self) -> None:
        told = Observation("decision", self.said(), narrative=self.said())
        self.keeping.remember(told, ORIGIN, session=self.session(), at=NOON)

    def step(self) -> None:
        self.indexing.step()

    def forget(self) -> None:
        word = self.dice.choice(WORDS)
        selection = self.dice.choice(
            (
                Selection(session=self.session()),
                Selection(text=word, session=self.session()),
                Selection(file=word, session=self.session()),
                Selection(
                    refs=(Ref(self.dice.choice(("observation", "prompt")), self.dice.randrange(1, 60)),)
                ),
            )
        )
        self.keeping.forget(self.keeping.doomed(selection))

    def expire(self) -> None:
        self.keeping.expire_evidence(NOON + self.dice.randrange(200), limit=3)

    def session(self) -> str:
        return f"s{self.dice.randrange(6)}"

    def said(self) -> str:
        return " ".join(self.dice.choices(WORDS, k=self.dice.randrange(1, 6)))


@pytest.mark.parametrize("seed", range(6))
def test_after_anything_that_happened_the_index_is_the_one_that_is_made_anew(
    open_store: OpenStore, clock: SettableClock, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "STEP", 7)  # so that forgetting meets an index that is behind
    with open_store() as store:
        player = Player(store, clock, seed)
        for _ in range(60):
            player.play()
        player.indexing.catch_up()
        kept = index_of(store)
        player.indexing.rebuild()
        player.indexing.catch_up()
        assert kept == index_of(store)
        with store.readers.read() as db:
            assert db.execute("PRAGMA foreign_key_check").fetchall() == []
            figures = dict(db.execute("SELECT state, jobs FROM queue_figures").fetchall())
            counted = dict(
                db.execute("SELECT state, COUNT(*) FROM pending_messages GROUP BY state").fetchall()
            )
        assert {state: jobs for state, jobs in figures.items() if jobs} == counted


def test_what_is_forgotten_while_it_is_being_indexed_is_not_indexed(
    open_store: OpenStore, clock: SettableClock
) -> None:
    with open_store() as store:
        keeping = SqliteKeeping(store.readers, store.writer, clock)
        gone, _ = keeping.remember(
            Observation("decision", "zebra", narrative="n"), ORIGIN, session="a", at=NOON
        )
        keeping.remember(Observation("decision", "pelican", narrative="n"), ORIGIN, session="a", at=NOON)
        with store.readers.read() as db:
            drafts = indexing._draft(db)
        assert drafts is not None
        assert len(drafts.entries) == 2
        keeping.forget(Doomed(refs=(gone,)))
        store.writer.run(lambda db: indexing._write(db, drafts))
        Indexing(store.readers, store.writer).catch_up()
        with store.readers.read() as db:
            match = "SELECT COUNT(*) FROM memory_text WHERE memory_text MATCH ?"
            assert [db.execute(match, (word,)).fetchone()[0] for word in ("zebra", "pelican")] == [0, 1]
            assert db.execute("SELECT COUNT(*) FROM memory_text_docsize").fetchone()[0] == 1


def test_merging_leaves_the_index_in_one_piece_by_short_steps(
    open_store: OpenStore, clock: SettableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexing, "STEP", 3)
    monkeypatch.setattr(scouring, "PAGES", 1)
    with open_store() as store:
        keeping = SqliteKeeping(store.readers, store.writer, clock)
        for number in range(60):
            told = " ".join(f"{word}{number}" for word in "abcdefghijklmnopqrstuvwxyz")
            note = Observation("decision", f"t{number}", narrative=told)
            keeping.remember(note, ORIGIN, session="a", at=NOON)
        Indexing(store.readers, store.writer).catch_up()

        def pieces() -> int:
            with store.readers.read() as db:
                (many,) = db.execute("SELECT COUNT(DISTINCT segid) FROM memory_text_idx").fetchone()
                return int(many)

        assert pieces() > 1
        scouring.merge(store.writer)
        assert pieces() == 1
