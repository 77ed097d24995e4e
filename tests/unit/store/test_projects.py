"""Which project work belongs to, and which projects there are."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, Events, SettableClock, new_events

from claude_mem.model.events import Kind, Origin, ToolCall
from claude_mem.model.jobs import CallCost
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Ref, span
from claude_mem.model.structs import replace
from claude_mem.store.sqlite import SqliteStore, vector_index
from claude_mem.store.values import ForgetPlan, NewEvent

SHOP = "/gone/code/shop"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore.open(tmp_path / "claude-mem.db", clock=lambda: NOON, backups=tmp_path / "b") as store:
        yield store


def plain(root: str, branch: str | None = None) -> Origin:
    return Origin(root, root.rpartition("/")[2] or root, root, branch=branch, plain=True)


def repository(root: str, remote: str | None = None) -> Origin:
    name = root.rpartition("/")[2]
    return Origin(remote or root, name, root, remote=remote, branch="main")


class Work:
    def __init__(self, store: SqliteStore) -> None:
        self._store, self._events = store, Events()

    def at(self, session: str, origin: Origin) -> None:
        start = self._events.make(Kind.SESSION_START, session, cwd=origin.root)
        self._store.events.accept(new_events(start, origin=origin))

    def projects(self) -> dict[str, int]:
        """Their roots, and how many sessions each has."""
        return {each.root: each.sessions for each in self._store.projects.newest(100)}


@pytest.fixture
def work(store: SqliteStore) -> Work:
    return Work(store)


def test_a_session_that_goes_on_in_a_subdirectory_makes_no_other_project(
    store: SqliteStore, work: Work
) -> None:
    work.at("s1", plain(SHOP))
    for folder in ("web", "web/src", "docs"):
        work.at("s1", plain(f"{SHOP}/{folder}"))
    work.at("s1", repository("/gone/code/elsewhere"))
    assert work.projects() == {SHOP: 1}
    with store.readers.read() as db:
        assert [row["root"] for row in db.execute("SELECT root FROM projects")] == [SHOP]


def test_a_session_that_begins_below_a_known_root_is_of_that_project(store: SqliteStore, work: Work) -> None:
    work.at("s1", plain(SHOP))
    work.at("s2", plain(f"{SHOP}/web/src"))
    work.at("s3", plain(f"{SHOP}-two/web"))
    assert work.projects() == {SHOP: 2, f"{SHOP}-two/web": 1}
    session = store.sessions.find("s2")
    assert session is not None
    assert session.project == "shop"


def test_what_is_known_counts_within_one_transaction_too(store: SqliteStore, work: Work) -> None:
    events = Events()
    root, below = (
        new_events(events.make(Kind.SESSION_START, name), origin=plain(place))
        for name, place in (("s1", SHOP), ("s2", f"{SHOP}/web"))
    )
    store.events.accept([*root, *below])
    assert work.projects() == {SHOP: 2}


def test_the_key_of_a_known_root_is_that_of_its_remote(store: SqliteStore, work: Work) -> None:
    work.at("s1", repository(SHOP, "example.com/team/shop"))
    assert store.projects.with_project(plain(f"{SHOP}/web")).key == "example.com/team/shop"
    work.at("s2", plain(f"{SHOP}/web"))
    assert work.projects() == {SHOP: 2}


def test_of_several_known_roots_the_nearest_counts(work: Work) -> None:
    work.at("s1", repository(SHOP))
    work.at("s2", repository(f"{SHOP}/vendor/till"))
    work.at("s3", plain(f"{SHOP}/vendor/till/src"))
    assert work.projects() == {SHOP: 1, f"{SHOP}/vendor/till": 2}


@pytest.mark.parametrize("home", ["/home/ann", "/Users/ann", "/root", "/tmp", "/"])
def test_work_in_a_home_does_not_make_one_project_of_all_that_is_below(work: Work, home: str) -> None:
    below = f"{home.rstrip('/')}/notes"
    work.at("s1", plain(home))
    work.at("s2", plain(below))
    assert work.projects() == {home: 1, below: 1}


def test_a_repository_that_is_gone_is_no_part_of_a_folder_that_never_was_one(work: Work) -> None:
    work.at("s1", plain("/gone/code"))
    work.at("s2", plain(SHOP, branch="main"))
    work.at("s3", plain(f"{SHOP}/web", branch="main"))
    assert work.projects() == {"/gone/code": 1, SHOP: 2}


def test_a_repository_inside_a_known_root_stays_its_own_project(work: Work) -> None:
    work.at("s1", plain("/gone/code"))
    work.at("s2", repository(SHOP))
    assert work.projects() == {"/gone/code": 1, SHOP: 1}


def test_a_directory_that_was_merged_stays_with_the_project_it_was_merged_into(
    store: SqliteStore, work: Work
) -> None:
    work.at("s1", plain(f"{SHOP}/web"))
    work.at("s2", plain("/gone/code/web-of-shop"))
    gone, into = (
        project.id
        for root in (f"{SHOP}/web", "/gone/code/web-of-shop")
        for project in store.projects.newest(9)
        if project.root == root
    )
    store.projects.merge(gone, into)
    work.at("s3", repository(SHOP))
    work.at("s4", plain(f"{SHOP}/web"))
    assert work.projects() == {SHOP: 1, "/gone/code/web-of-shop": 3}


def test_a_project_without_sessions_does_not_exist(store: SqliteStore, work: Work) -> None:
    work.at("s1", plain(SHOP))
    with_ghost = "INSERT INTO projects (key, name, root, created_at, created_at_epoch) VALUES (?, ?, ?, ?, 1)"
    ghost = (f"{SHOP}/web", "web", f"{SHOP}/web", "2026-01-01T00:00:00.000Z")
    store.writer.run(lambda db: db.execute(with_ghost, ghost))
    library = store.projects
    assert [project.root for project in library.newest(9)] == [SHOP]
    assert library.find("web") is None
    assert library.find(f"{SHOP}/web") is None
    assert [each.root for each in store.projects.all()] == [SHOP]
    assert store.statistics.facets(None).projects == ("shop",)
    assert store.statistics.figures()["projects"] == 1
    work.at("s2", plain(f"{SHOP}/web"))
    assert work.projects() == {SHOP: 2}


# Projects that are renamed and merged: all of one is the other's, in rows and indexes, whenever it is
# interrupted.


MOVED = Origin(key="/home/a/old-shop", name="old-shop", root="/home/a/old-shop")
THIRD = Origin(key="github.com/a/mill", name="mill", root="/home/a/mill")
WORDS = ("apple", "pear", "plum", "heron", "crane")
SPEND = CallCost("scripted", "scripted", 10, 0, 5, 0.1)


class House:
    def __init__(self, store: SqliteStore, clock: SettableClock) -> None:
        self.store, self.events, self.dice = store, Events(), random.Random(7)
        self.projects = store.projects
        self.keeping = store
        self.indexing = store.text_index
        self.library, self.stored_projects = store.memories, store.projects

    def turn(self, origin: Origin, session: str) -> None:
        said, cwd = self.said, origin.root
        tool = ToolCall("Bash", f'{{"command": "{said()}", "path": "{cwd}/{said()}.py"}}', said(), None)
        made = (
            self.events.prompt(said(), session, cwd=cwd),
            self.events.make(Kind.TOOL_USE, session, tool=tool, cwd=cwd),
            self.events.make(Kind.STOP, session, text=said(), cwd=cwd),
        )
        self.store.events.accept([NewEvent(event, origin) for event in made])
        found = self.store.sessions.find(session)
        assert found is not None
        lease = self.store.queue.lease(9, found.id)
        assert lease is not None
        told = Observation("change", said(), narrative=said(), files_modified=(f"{cwd}/{said()}.py",))
        self.store.queue.settle(
            lease, Findings((told,), (Summary(request=said()),)), SPEND, provider="scripted"
        )

    def said(self) -> str:
        return " ".join(self.dice.choices(WORDS, k=4)) + f" {self.dice.random()}"

    def id_of(self, origin: Origin) -> int:
        found = self.stored_projects.find(origin.key)
        assert found is not None
        return found.id

    def index(self) -> tuple[Any, ...]:
        with self.store.readers.read() as db:
            match = (
                "SELECT rowid, bm25(memory_text) FROM memory_text WHERE memory_text MATCH ? ORDER BY rowid"
            )
            found = {word: [tuple(row) for row in db.execute(match, (word,))] for word in WORDS}
            files = [tuple(row) for row in db.execute("SELECT * FROM memory_files ORDER BY 1, 2, 3")]
        self.store.writer.run(_check)
        return found, files


def _check(db: sqlite3.Connection) -> None:
    db.execute("INSERT INTO memory_text (memory_text, rank) VALUES ('integrity-check', 0)")


@pytest.fixture
def house(open_store: Callable[[], SqliteStore], clock: SettableClock) -> Iterator[House]:
    with open_store() as store:
        house = House(store, clock)
        for number in range(12):
            house.turn((ORIGIN, MOVED, THIRD)[number % 3], f"s{number % 6}")
            if number == 7:
                house.indexing.catch_up()  # the rest is not indexed yet when it is moved
        note = Observation("decision", "kept by hand")
        house.keeping.memories.remember(note, MOVED, session="s0", at=NOON)  # in a session of another project
        yield house


def test_all_of_a_merged_project_is_the_others(
    house: House, peek: Callable[[str], list[tuple[Any, ...]]]
) -> None:
    gone, into = house.id_of(MOVED), house.id_of(ORIGIN)
    before = sum(project.observations for project in house.projects.all())
    assert house.projects.merge(gone, into) == 3
    assert peek("SELECT DISTINCT project_id, project FROM sdk_sessions ORDER BY 1") == [
        (into, "shop"),
        (3, "mill"),
    ]
    assert peek("SELECT DISTINCT project_id, project FROM observations ORDER BY 1") == [
        (into, "shop"),
        (3, "mill"),
    ]
    assert peek("SELECT DISTINCT project FROM session_summaries ORDER BY 1") == [("mill",), ("shop",)]
    assert peek("SELECT DISTINCT project FROM spending ORDER BY 1") == [("mill",), ("shop",)]
    assert peek("SELECT key FROM projects ORDER BY id") == [(ORIGIN.key,), (THIRD.key,)]
    assert sum(project.observations for project in house.projects.all()) == before
    assert [project.merged for project in house.projects.all() if project.id == into] == [(MOVED.key,)]


def test_the_indexes_are_as_if_it_had_always_been_so(house: House) -> None:
    house.projects.merge(house.id_of(MOVED), house.id_of(ORIGIN))
    house.indexing.catch_up()
    moved = house.index()
    house.indexing.rebuild()
    house.indexing.catch_up()
    assert moved == house.index()
    assert all(moved[0].values())


def test_what_comes_in_under_its_key_is_the_others_from_then_on(house: House) -> None:
    house.projects.merge(house.id_of(MOVED), house.id_of(ORIGIN))
    house.turn(MOVED, "s-new")
    found = house.store.sessions.find("s-new")
    assert found is not None
    assert found.project == "shop"
    assert house.id_of(MOVED) == house.id_of(ORIGIN)
    ref, _ = house.keeping.memories.remember(
        Observation("change", "a note"), MOVED, session="by-hand", at=NOON
    )
    (card,) = house.library.cards([ref])
    assert (card.project, card.project_id) == ("shop", house.id_of(ORIGIN))


def test_what_was_merged_into_one_that_is_merged_goes_on_with_it(house: House) -> None:
    house.projects.merge(house.id_of(MOVED), house.id_of(ORIGIN))
    house.projects.merge(house.id_of(ORIGIN), house.id_of(THIRD))
    assert house.id_of(MOVED) == house.id_of(ORIGIN) == house.id_of(THIRD)
    assert len(house.projects.all()) == 1


def test_a_forgotten_project_takes_its_other_keys_with_it(house: House) -> None:
    house.projects.merge(house.id_of(MOVED), house.id_of(ORIGIN))
    house.keeping.deletion.forget(ForgetPlan(sessions=("s0", "s1", "s3", "s4")))
    assert house.stored_projects.find(MOVED.key) is None
    house.turn(MOVED, "s-new")
    assert MOVED.key in {project.key for project in house.projects.all()}, "it begins anew"


def test_a_merge_that_was_killed_is_finished_later(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    gone, into = house.id_of(MOVED), house.id_of(ORIGIN)
    moves: Iterator[Callable[..., None]] = iter([vector_index.move, _killed])

    def move(*given: object) -> None:
        next(moves)(*given)

    with monkeypatch.context() as killed:
        killed.setattr(vector_index, "move", move)  # in the middle of the second session's transaction
        with pytest.raises(KeyboardInterrupt):
            house.projects.merge(gone, into)
    assert len(house.projects.all()) == 3
    assert house.id_of(MOVED) == into, "what comes meanwhile is the other's already"
    assert house.projects.finish_merging() == 2
    assert sorted(project.id for project in house.projects.all()) == [into, 3]
    assert house.projects.finish_merging() == 0


def _killed(*_args: object) -> None:
    raise KeyboardInterrupt


def test_vectors_follow_their_memories(house: House) -> None:
    embedding = house.store.embeddings
    vectors = house.store.vectors
    embedding.begin("builtin test")
    while (batch := embedding.unembedded(100)) is not None:
        vectors.put({key: text.encode() for key, text in batch.texts})
        embedding.embedded(batch.marks, batch.settled)
    before = {blob for rows in vectors.newest(None, 1000, 1000) for _, blob in rows}
    made, into = embedding.made(), house.id_of(ORIGIN)
    gone = house.id_of(MOVED)
    house.projects.merge(gone, into)
    assert {blob for rows in vectors.newest(None, 1000, 1000) for _, blob in rows} == before
    assert list(vectors.newest(gone, 1000, 1000)) == []
    assert embedding.unembedded(1) is None
    now = embedding.made()
    assert made is not None
    assert now is not None
    assert now[1] != made[1], "whoever holds them reads them again"


def test_a_backend_elsewhere_is_told_to_make_them_anew(house: House) -> None:
    embedding = house.store.embeddings
    embedding.begin("chroma test")
    while (batch := embedding.unembedded(100)) is not None:
        embedding.embedded(batch.marks, batch.settled)
    house.projects.merge(house.id_of(MOVED), house.id_of(ORIGIN))
    assert embedding.forgotten() is not None
    again = embedding.unembedded(100)
    assert again is not None
    first, last = span(house.id_of(ORIGIN))
    assert any(first <= key <= last for key, _ in again.texts)


def test_a_new_name_is_everywhere_and_stays(
    house: House, peek: Callable[[str], list[tuple[Any, ...]]]
) -> None:
    shop = house.id_of(ORIGIN)
    house.projects.rename(shop, "the shop")
    for table in ("sdk_sessions", "observations", "session_summaries", "spending"):
        assert ("shop",) not in peek(f"SELECT DISTINCT project FROM {table}")
        assert ("the shop",) in peek(f"SELECT DISTINCT project FROM {table}")
    house.turn(replace(ORIGIN, name="another-clone"), "s-new")
    assert peek("SELECT project FROM sdk_sessions WHERE claude_session_id = 's-new'") == [("the shop",)]
    house.turn(replace(THIRD, name="another-mill"), "s-newer")
    assert peek("SELECT project FROM sdk_sessions WHERE claude_session_id = 's-newer'") == [("another-mill",)]


def test_refs_stay_what_they_were(house: House) -> None:
    """People have written them down, and sessions were told them."""
    before = {
        card.ref: card.title for card in house.library.cards([Ref("observation", id) for id in range(1, 14)])
    }
    house.projects.merge(house.id_of(MOVED), house.id_of(ORIGIN))
    after = {card.ref: card.title for card in house.library.cards(list(before))}
    assert after == before
    assert len(before) == 13
