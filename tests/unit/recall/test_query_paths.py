"""Paths in a question."""

from __future__ import annotations

import pytest

from claude_mem.model.refs import Ref, is_of_file, memory_key
from claude_mem.recall.query_paths import is_only_paths, lifts, parent_folders, paths_in


def at(session: int, id: int) -> int:
    return memory_key(1, session, Ref("observation", id))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("why is src/store/fuse.py slow", ["src/store/fuse.py"]),
        ("look at @src/app.ts and README.md", ["src/app.ts", "README.md"]),
        ('"src\\\\win\\\\a.cs" .gitignore', ["src\\\\win\\\\a.cs", ".gitignore"]),
        ("app/[slug]/(group)/page.tsx", ["app/[slug]/(group)/page.tsx"]),
        ("upgrade to 2.1.0, e.g. now. and/or?", []),
    ],
)
def test_the_paths_of_a_query(query: str, found: list[str]) -> None:
    assert paths_in(query) == found


def test_a_query_may_be_nothing_but_paths() -> None:
    assert is_only_paths("src/a.py b.go")
    assert not is_only_paths("src/a.py why")
    assert not is_only_paths("")


def test_a_files_folders_are_those_above_it_the_nearest_first() -> None:
    assert parent_folders("a/b/c/d/e.py") == ["a/b/c/d", "a/b/c", "a/b"]
    assert parent_folders("/src\\e.py") == ["src"]
    assert parent_folders("e.py") == []


def test_who_changed_a_file_knows_more_of_it_than_who_named_it_than_who_read_it_than_who_worked_beside() -> (
    None
):
    changed, named, read, near, far = (at(session, session) for session in range(1, 6))
    found = lifts([changed], [read], [named], [[(near, "a/x.py")], [(far, "x.py"), (near, "a/x.py")]])
    order = [changed, named, read, near, far]
    assert sorted(order, key=lambda memory_key: -found[memory_key]) == order
    assert found[far] > 0, "a file nobody touched is no dead end"


def test_working_beside_a_file_often_does_not_outweigh_having_changed_it() -> None:
    found = lifts([at(1, 1)], [], [], [[(at(2, id), f"a/{id}.py") for id in range(2, 500)]])
    assert found[at(1, 1)] > 3 * max(lift for memory_key, lift in found.items() if memory_key != at(1, 1))


def test_one_file_touched_often_is_one_file_beside() -> None:
    once, often = [(at(1, 1), "a/x.py")], [(at(1, id), "a/x.py") for id in range(1, 50)]
    assert lifts([], [], [], [once])[at(1, 1)] == lifts([], [], [], [often])[at(1, 1)]


@pytest.mark.parametrize(
    ("asked", "fits"),
    [
        ("src/recall/fuse.py", True),
        ("fuse.py", True),
        ("recall/fuse.py", True),
        ("/home/a/shop/src/recall/fuse.py", True),
        ("./src/recall/fuse.py", True),
        ("SRC\\Recall\\fuse.py", True),
        ("src/", True),
        ("recall/", True),
        ("*.py", True),
        ("src/*.py", True),
        ("src/**/f?se.py", True),
        ("use.py", False),
        ("src", False),
        ("call/", False),
        ("src/*.ts", False),
        ("fuse.py/", False),
        ("", False),
    ],
)
def test_a_file_is_asked_for_by_its_path_the_end_of_it_a_folder_or_a_pattern(asked: str, fits: bool) -> None:
    assert is_of_file("src/recall/fuse.py", asked) is fits
