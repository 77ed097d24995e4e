"""Which project work belongs to, and which projects there are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store_contract import NOON, Events, arrivals

from claude_mem.model.events import Kind, Origin
from claude_mem.store.sqlite import SqliteStore, news
from claude_mem.store.sqlite.ledgers import SqliteLedgers
from claude_mem.store.sqlite.library import SqliteLibrary
from claude_mem.store.sqlite.merging import SqliteProjects

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
        self._store.accept(arrivals(start, origin=origin))

    def projects(self) -> dict[str, int]:
        """Their roots, and how many sessions each has."""
        return {each.root: each.sessions for each in SqliteLibrary(self._store.readers).projects(100)}


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
    session = store.find("s2")
    assert session is not None
    assert session.project == "shop"


def test_what_is_known_counts_within_one_transaction_too(store: SqliteStore, work: Work) -> None:
    events = Events()
    root, below = (
        arrivals(events.make(Kind.SESSION_START, name), origin=plain(place))
        for name, place in (("s1", SHOP), ("s2", f"{SHOP}/web"))
    )
    store.accept([*root, *below])
    assert work.projects() == {SHOP: 2}


def test_the_key_of_a_known_root_is_that_of_its_remote(store: SqliteStore, work: Work) -> None:
    work.at("s1", repository(SHOP, "example.com/team/shop"))
    assert store.belonging(plain(f"{SHOP}/web")).key == "example.com/team/shop"
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
        for project in SqliteLibrary(store.readers).projects(9)
        if project.root == root
    )
    SqliteProjects(store.readers, store.writer).merge(gone, into)
    work.at("s3", repository(SHOP))
    work.at("s4", plain(f"{SHOP}/web"))
    assert work.projects() == {SHOP: 1, "/gone/code/web-of-shop": 3}


def test_a_project_without_sessions_does_not_exist(store: SqliteStore, work: Work) -> None:
    work.at("s1", plain(SHOP))
    with_ghost = "INSERT INTO projects (key, name, root, created_at, created_at_epoch) VALUES (?, ?, ?, ?, 1)"
    ghost = (f"{SHOP}/web", "web", f"{SHOP}/web", "2026-01-01T00:00:00.000Z")
    store.writer.run(lambda db: db.execute(with_ghost, ghost))
    library = SqliteLibrary(store.readers)
    assert [project.root for project in library.projects(9)] == [SHOP]
    assert library.project("web") is None
    assert library.project(f"{SHOP}/web") is None
    assert [each.root for each in SqliteProjects(store.readers, store.writer).all()] == [SHOP]
    assert SqliteLedgers(store.readers).facets(None).projects == ("shop",)
    with store.readers.read() as db:
        assert news.figures(db)["projects"] == 1
    work.at("s2", plain(f"{SHOP}/web"))
    assert work.projects() == {SHOP: 2}
