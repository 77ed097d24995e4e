"""Projects as a person names them, and where they are looked for when they were moved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contracts.store_contract import NOON, SettableClock

from claude_mem.api.projects import MergeHint
from claude_mem.model.errors import InvalidInput, NotFound
from claude_mem.model.events import Origin
from claude_mem.model.memory import Observation
from claude_mem.model.refs import Ref
from claude_mem.model.structs import replace
from claude_mem.recall.project_admin import ProjectAdmin, merge_hints
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.values import Project, ProjectDetails

SHOP = Origin(key="git.example/a/shop", name="shop", root="/a/shop", remote="git.example/a/shop")
OTHER = Origin(key="/b/shop", name="shop", root="/b/shop")
MILL = Origin(key="/c/mill", name="mill", root="/c/mill")


class House:
    def __init__(self, store: SqliteStore) -> None:
        self.there = {"/a/shop", "/b/shop", "/c/mill"}
        self.told: list[str] = []
        self.origins = {origin.root: origin for origin in (SHOP, OTHER, MILL)}
        self.store, self.library = store, store.memories
        self.keeping = store
        self.housing = ProjectAdmin(
            store=store,
            origin_of=lambda cwd: self.origins[cwd],
            is_there=self.there.__contains__,
            has_commit=lambda root, commit: False,
            on_move=lambda: self.told.append("moved"),
            on_change=lambda _projects: self.told.append("changed"),
            clean=lambda text: text.replace("hunter2", ""),
            without_embedding=lambda work: work(),
        )

    def keep(self, origin: Origin) -> None:
        note = Observation("change", f"of {origin.root}")
        self.keeping.memories.remember(note, origin, session=f"s-{origin.root}", at=NOON)

    def project(self, origin: Origin) -> Project:
        found = self.store.projects.find(origin.key)
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
    with pytest.raises(InvalidInput, match="/b/shop") as error:
        house.housing.merge("shop", "mill", dry_run=False)
    assert error.value.field == "from"
    with pytest.raises(InvalidInput, match=r"git\.example/a/shop"):
        house.housing.rename("shop", "x")
    with pytest.raises(NotFound):
        house.housing.rename("nobodys", "x")
    with pytest.raises(InvalidInput, match="same project"):
        house.housing.merge("mill", "/c/mill", dry_run=False)
    assert len(house.housing.overview().items) == 3
    house.housing.merge("/b/shop", SHOP.key, dry_run=False)
    assert house.told == ["moved", "changed"]
    assert len(house.housing.overview().items) == 2


def test_a_dry_run_merges_nothing(house: House) -> None:
    told = house.housing.merge("/b/shop", "mill", dry_run=True)
    assert (told.sessions, told.observations) == (1, 1)
    assert len(house.housing.overview().items) == 3


@pytest.mark.parametrize("name", ["", "  ", "hunter2", "x" * 201])
def test_a_name_is_checked_like_any_text_of_a_caller(house: House, name: str) -> None:
    with pytest.raises(InvalidInput):
        house.housing.rename("mill", name)
    assert house.housing.rename("mill", " the \n mill ").name == "the mill"


def test_a_project_is_looked_for_only_where_its_old_place_is_gone(house: House) -> None:
    clone = replace(SHOP, root="/d/store", name="store")
    project = house.project(SHOP)
    house.there.add("/d/store")
    assert house.housing.relocated(project, clone) == project, "a second clone is no move"
    house.there.discard("/a/shop")
    moved = house.housing.relocated(project, clone)
    assert (moved.root, moved.name) == ("/d/store", "store")
    assert (house.project(SHOP).root, house.project(SHOP).name) == ("/d/store", "store")
    (card,) = house.library.cards([Ref("observation", 1)])
    assert card.project == "store"
    assert house.told == ["moved"]


def test_neither_is_it_moved_to_where_nothing_is(house: House) -> None:
    project = house.project(SHOP)
    house.there.discard("/a/shop")
    assert house.housing.relocated(project, replace(SHOP, root="/d/store")) == project
    assert house.housing.relocated(project, replace(SHOP, root="")) == project


def test_a_name_given_by_hand_outlives_a_move(house: House) -> None:
    house.housing.rename(SHOP.key, "by hand")
    house.there.discard("/a/shop")
    house.there.add("/d/store")
    moved = house.housing.relocated(house.project(SHOP), replace(SHOP, root="/d/store", name="store"))
    assert (moved.root, moved.name) == ("/d/store", "by hand")


def test_without_a_question_it_is_looked_for_where_its_last_sessions_worked(house: House) -> None:
    house.there.discard("/a/shop")
    assert house.housing.relocated_by_sessions(house.project(SHOP)).root == "/a/shop"
    house.there.add("/d/store")
    house.origins["/d/store"] = replace(SHOP, root="/d/store", name="store")
    note = Observation("change", "made there")
    house.keeping.memories.remember(note, house.origins["/d/store"], session="s-there", at=NOON)
    assert house.housing.relocated_by_sessions(house.project(SHOP)).root == "/d/store"
    assert house.project(SHOP).name == "store"


# When two projects look like one, and when they do not.


def project(id: int, key: str, root: str, **more: object) -> ProjectDetails:
    return ProjectDetails(id=id, key=key, name=root.rpartition("/")[2], root=root, **more)  # type: ignore[arg-type]


def found(
    projects: list[ProjectDetails], there: set[str], commits: dict[str, str] | None = None
) -> list[tuple[int, int]]:
    ids = {project.key: project.id for project in projects}
    return [(ids[hint.from_], ids[hint.into]) for hint in hinted(projects, there, commits)]


def hinted(
    projects: list[ProjectDetails], there: set[str], commits: dict[str, str] | None = None
) -> list[MergeHint]:
    return merge_hints(projects, there.__contains__, lambda root, commit: (commits or {}).get(root) == commit)


def test_one_directory_under_two_keys_is_one_project_and_the_older_goes() -> None:
    newer = project(2, "git.example/a/shop", "/a/shop", remote="git.example/a/shop")
    older = project(1, "/a/shop", "/a/shop")
    assert found([newer, older], {"/a/shop"}) == [(1, 2)]


def test_one_remote_under_two_keys_is_one_project() -> None:
    newer = project(2, "k2", "/a/shop", remote="git.example/a/shop")
    older = project(1, "k1", "/b/shop", remote="git.example/a/shop")
    assert found([newer, older], {"/a/shop", "/b/shop"}) == [(1, 2)]


def test_a_directory_that_is_gone_is_looked_for_by_its_commit_and_then_by_its_name() -> None:
    gone = project(1, "/a/shop", "/a/shop", last_commit="c0ffee")
    moved, namesake = project(2, "/b/store", "/b/store"), project(3, "/c/shop", "/c/shop")
    there = {"/b/store", "/c/shop"}
    assert found([moved, namesake, gone], there, {"/b/store": "c0ffee"}) == [(1, 2)]
    (by_name,) = hinted([moved, namesake, gone], there)
    assert (by_name.into, by_name.why) == ("/c/shop", "/a/shop is gone, and /c/shop has the same name")


def test_a_directory_that_is_gone_is_part_of_the_project_around_it() -> None:
    shop = project(1, "/a/shop", "/a/shop")
    worktree, home = (
        project(2, "/a/shop/.worktrees/3", "/a/shop/.worktrees/3"),
        project(3, "/home/a", "/home/a"),
    )
    in_home = project(4, "/home/a/notes", "/home/a/notes")
    assert found([worktree, shop, in_home, home], {"/a/shop", "/home/a"}) == [(2, 1)]
    assert found([worktree, shop], {"/a/shop", worktree.root}) == []


def test_it_may_also_be_the_one_last_worked_in_that_is_gone() -> None:
    gone = project(1, "/a/shop", "/a/shop", last_commit="c0ffee")
    assert found([gone, project(2, "/b/shop", "/b/shop")], {"/b/shop"}, {"/b/shop": "c0ffee"}) == [(1, 2)]


def test_names_alone_say_nothing_while_both_are_there_or_several_have_it_or_their_remotes_differ() -> None:
    one, two, three = (project(number, f"/{number}/shop", f"/{number}/shop") for number in (1, 2, 3))
    assert found([one, two], {one.root, two.root}) == []
    assert found([one, two, three], {one.root, two.root}) == []
    of_others = project(4, "git.example/b/shop", "/4/shop", remote="git.example/b/shop")
    ours = project(5, "git.example/a/shop", "/5/shop", remote="git.example/a/shop")
    assert found([of_others, ours], {of_others.root}) == []


def test_what_has_no_directory_is_left_alone() -> None:
    assert found([project(1, "name:x", ""), project(2, "unknown", "")], set()) == []


def test_what_a_program_only_named_may_be_the_one_directory_of_that_name() -> None:
    named = ProjectDetails(id=1, key="name:shop", name="shop", root="")
    here, there = project(2, "/a/shop", "/a/shop"), project(3, "/b/shop", "/b/shop")
    assert found([named, here], {here.root}) == [(1, 2)]
    assert found([named, here, there], {here.root, there.root}) == []
