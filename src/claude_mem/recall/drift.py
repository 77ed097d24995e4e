"""Notices that two projects are one: under two keys, or at a place that is gone. Pure; a person decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from claude_mem.model.events import around, worktree_of
from claude_mem.ports.housekeeping import Housed

MOST_ASKED = 8
"""Repositories that are asked for a commit: each may take git a while."""


@dataclass(frozen=True, slots=True)
class Hint:
    gone: Housed
    into: Housed
    why: str  # a clause


def hints(
    projects: Sequence[Housed],
    is_there: Callable[[str], bool],
    has_commit: Callable[[str, str], bool],
) -> list[Hint]:
    """`projects`: the one last worked in first, which is what another is merged into."""
    found: list[Hint] = []
    placed = [project for project in projects if project.root]
    there = {root: is_there(root) for root in {project.root for project in placed}}
    for number, project in enumerate(placed):
        newer = placed[:number]
        same = next((one for one in newer if _is_same(one, project)), None)
        if same is not None:
            what = f"both lie in {same.root}" if same.root == project.root else f"both are {same.remote}"
            found.append(Hint(project, same, what))
        elif not there[project.root]:
            others = [one for one in placed if one is not project and there[one.root]]
            hint = _part(project, others) or _moved(project, others, has_commit)
            found += [hint] if hint else []
    return found


def _is_same(one: Housed, other: Housed) -> bool:
    return one.root == other.root or (one.remote is not None and one.remote == other.remote)


def _part(project: Housed, others: Sequence[Housed]) -> Hint | None:
    """A worktree or a folder of another project."""
    worktree = worktree_of(project.root)
    for root in around(worktree[0] if worktree else project.root):
        whole = next((one for one in others if one.root == root), None)
        if whole:
            return Hint(project, whole, f"{project.root} is gone, and was a part of {root}")
    return None


def _moved(project: Housed, others: Sequence[Housed], has_commit: Callable[[str, str], bool]) -> Hint | None:
    """Where the work of a project whose directory is gone goes on."""
    alike = [one for one in others if _base(one) == _base(project) or one.name == project.name]
    rest = [one for one in others if one not in alike]
    commit = project.last_commit
    if commit:
        for one in [*alike, *rest][:MOST_ASKED]:
            if has_commit(one.root, commit):
                return Hint(project, one, f"{project.root} is gone, and its last commit is in {one.root}")
    if len(alike) == 1 and not (project.remote and alike[0].remote):
        return Hint(project, alike[0], f"{project.root} is gone, and {alike[0].root} has its name")
    return None


def _base(project: Housed) -> str:
    return project.root.rstrip("/").rpartition("/")[2].lower()
