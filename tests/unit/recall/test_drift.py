"""When two projects look like one, and when they do not."""

from __future__ import annotations

from claude_mem.ports.housekeeping import Housed
from claude_mem.recall.drift import Hint, hints


def project(id: int, key: str, root: str, **more: object) -> Housed:
    return Housed(id=id, key=key, name=root.rpartition("/")[2], root=root, **more)  # type: ignore[arg-type]


def found(
    projects: list[Housed], there: set[str], commits: dict[str, str] | None = None
) -> list[tuple[int, int]]:
    told = hinted(projects, there, commits)
    return [(hint.gone.id, hint.into.id) for hint in told]


def hinted(projects: list[Housed], there: set[str], commits: dict[str, str] | None = None) -> list[Hint]:
    return hints(projects, there.__contains__, lambda root, commit: (commits or {}).get(root) == commit)


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
    assert (by_name.into.id, by_name.why) == (3, "/a/shop is gone, and /c/shop has its name")


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
