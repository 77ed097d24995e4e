"""Projects as a person names them, and where they are looked for when they were moved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contracts.store_contract import NOON, SettableClock

from claude_mem.model.events import Origin
from claude_mem.model.memory import Observation
from claude_mem.model.refs import Ref
from claude_mem.ports.desk import BadQuestion, NotThere
from claude_mem.ports.library import Project
from claude_mem.recall.housing import Housing
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.keeping import SqliteKeeping
from claude_mem.store.sqlite.library import SqliteLibrary
from claude_mem.store.sqlite.merging import SqliteProjects
from claude_mem.store.sqlite.shelves import SqliteShelves

SHOP = Origin(key="git.example/a/shop", name="shop", root="/a/shop", remote="git.example/a/shop")
OTHER = Origin(key="/b/shop", name="shop", root="/b/shop")
MILL = Origin(key="/c/mill", name="mill", root="/c/mill")


class House:
    def __init__(self, store: SqliteStore) -> None:
        self.there = {"/a/shop", "/b/shop", "/c/mill"}
        self.told: list[str] = []
        self.origins = {origin.root: origin for origin in (SHOP, OTHER, MILL)}
        self.library = SqliteLibrary(store.readers)
        self.keeping = SqliteKeeping(store.readers, store.writer, SettableClock())
        self.housing = Housing(
            SqliteProjects(store.readers, store.writer),
            SqliteShelves(store.readers),
            lambda cwd: self.origins[cwd],
            self.there.__contains__,
            lambda root, commit: False,
            lambda: self.told.append("moved"),
            lambda _projects: self.told.append("changed"),
            lambda text: text.replace("hunter2", ""),
            lambda work: work(),
        )

    def keep(self, origin: Origin) -> None:
        note = Observation("change", f"of {origin.root}")
        self.keeping.remember(note, origin, session=f"s-{origin.root}", at=NOON)

    def project(self, origin: Origin) -> Project:
        found = self.library.project(origin.key)
        assert found is not None
        return found


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with SqliteStore.open(tmp_path / "claude-mem.db", clock=SettableClock(), backups=tmp_path / "b") as store:
        house = House(store)
        for origin in (SHOP, OTHER, MILL):
            house.keep(origin)
        yield house


def test_a_name_that_two_projects_have_is_refused_with_their_keys(house: House) -> None:
    with pytest.raises(BadQuestion, match="/b/shop") as error:
        house.housing.merge("shop", "mill", dry_run=False)
    assert error.value.field == "from"
    with pytest.raises(BadQuestion, match=r"git\.example/a/shop"):
        house.housing.rename("shop", "x")
    with pytest.raises(NotThere):
        house.housing.rename("nobodys", "x")
    with pytest.raises(BadQuestion, match="same project"):
        house.housing.merge("mill", "/c/mill", dry_run=False)
    assert len(house.housing.overview()["items"]) == 3
    house.housing.merge("/b/shop", SHOP.key, dry_run=False)
    assert house.told == ["moved", "changed"]
    assert len(house.housing.overview()["items"]) == 2


def test_a_dry_run_merges_nothing(house: House) -> None:
    told = house.housing.merge("/b/shop", "mill", dry_run=True)
    assert (told["sessions"], told["observations"]) == (1, 1)
    assert len(house.housing.overview()["items"]) == 3


@pytest.mark.parametrize("name", ["", "  ", "hunter2", "x" * 201])
def test_a_name_is_checked_like_any_text_of_a_caller(house: House, name: str) -> None:
    with pytest.raises(BadQuestion):
        house.housing.rename("mill", name)
    assert house.housing.rename("mill", " the \n mill ")["name"] == "the mill"


def test_a_project_is_looked_for_only_where_its_old_place_is_gone(house: House) -> None:
    clone = replace(SHOP, root="/d/store", name="store")
    project = house.project(SHOP)
    house.there.add("/d/store")
    assert house.housing.placed(project, clone) == project, "a second clone is no move"
    house.there.discard("/a/shop")
    moved = house.housing.placed(project, clone)
    assert (moved.root, moved.name) == ("/d/store", "store")
    assert (house.project(SHOP).root, house.project(SHOP).name) == ("/d/store", "store")
    (card,) = house.library.cards([Ref("observation", 1)])
    assert card.project == "store"
    assert house.told == ["moved"]


def test_neither_is_it_moved_to_where_nothing_is(house: House) -> None:
    project = house.project(SHOP)
    house.there.discard("/a/shop")
    assert house.housing.placed(project, replace(SHOP, root="/d/store")) == project
    assert house.housing.placed(project, replace(SHOP, root="")) == project


def test_a_name_given_by_hand_outlives_a_move(house: House) -> None:
    house.housing.rename(SHOP.key, "by hand")
    house.there.discard("/a/shop")
    house.there.add("/d/store")
    moved = house.housing.placed(house.project(SHOP), replace(SHOP, root="/d/store", name="store"))
    assert (moved.root, moved.name) == ("/d/store", "by hand")


def test_without_a_question_it_is_looked_for_where_its_last_sessions_worked(house: House) -> None:
    house.there.discard("/a/shop")
    assert house.housing.looked_for(house.project(SHOP)).root == "/a/shop"
    house.there.add("/d/store")
    house.origins["/d/store"] = replace(SHOP, root="/d/store", name="store")
    note = Observation("change", "made there")
    house.keeping.remember(note, house.origins["/d/store"], session="s-there", at=NOON)
    assert house.housing.looked_for(house.project(SHOP)).root == "/d/store"
    assert house.project(SHOP).name == "store"
