"""Project management: overview, rename, merge; detecting possible duplicates and projects that were moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from claude_mem.api import projects as api
from claude_mem.model.errors import InvalidInput, NotFound
from claude_mem.model.events import Origin, enclosing_directories, repository_of
from claude_mem.model.structs import replace
from claude_mem.recall import answers
from claude_mem.recall.background import OnChange
from claude_mem.store.base import Store
from claude_mem.store.values import Project, ProjectDetails

MOST_CHECKED = 8
"""Repositories that are queried for a commit: each may take git a while."""


def merge_hints(
    projects: Sequence[ProjectDetails],
    is_there: Callable[[str], bool],
    has_commit: Callable[[str, str], bool],
) -> list[api.MergeHint]:
    """`projects`: the one last worked in first, which is what another is merged into."""
    found: list[api.MergeHint] = []
    rooted = [project for project in projects if project.root]
    there = {root: is_there(root) for root in {project.root for project in rooted}}
    for number, project in enumerate(rooted):
        newer = rooted[:number]
        same = next((one for one in newer if _is_same(one, project)), None)
        if same is not None:
            what = f"both are in {same.root}" if same.root == project.root else f"both are {same.remote}"
            found.append(_hint(project, same, what))
        elif not there[project.root]:
            others = [one for one in rooted if one is not project and there[one.root]]
            hint = _part(project, others) or _moved(project, others, has_commit)
            found += [hint] if hint else []
    return [*found, *_only_named(projects)]


def _only_named(projects: Sequence[ProjectDetails]) -> Iterator[api.MergeHint]:
    """What a program reported by a name alone, before the directory of that name was known."""
    for project in projects:
        alike = [one for one in projects if one.root and one.name == project.name]
        if not project.root and len(alike) == 1:
            yield _hint(project, alike[0], f"it has no directory, and the same name as {alike[0].root}")


def _hint(source: ProjectDetails, into: ProjectDetails, why: str) -> api.MergeHint:
    return api.MergeHint(from_=source.key, into=into.key, names=[source.name, into.name], why=why)


def _is_same(one: ProjectDetails, other: ProjectDetails) -> bool:
    return one.root == other.root or (one.remote is not None and one.remote == other.remote)


def _part(project: ProjectDetails, others: Sequence[ProjectDetails]) -> api.MergeHint | None:
    """The merge hint for a worktree or a folder of another project."""
    for root in enclosing_directories(repository_of(project.root)):
        enclosing = next((one for one in others if one.root == root), None)
        if enclosing:
            return _hint(project, enclosing, f"{project.root} is gone and was inside {root}")
    return None


def _moved(
    project: ProjectDetails, others: Sequence[ProjectDetails], has_commit: Callable[[str, str], bool]
) -> api.MergeHint | None:
    """The project in which the work of a project without directory continues."""
    alike = [one for one in others if _base(one) == _base(project) or one.name == project.name]
    rest = [one for one in others if one not in alike]
    commit = project.last_commit
    if commit:
        for one in [*alike, *rest][:MOST_CHECKED]:
            if has_commit(one.root, commit):
                return _hint(project, one, f"{project.root} is gone, and its last commit is in {one.root}")
    if len(alike) == 1 and not (project.remote and alike[0].remote):
        return _hint(project, alike[0], f"{project.root} is gone, and {alike[0].root} has the same name")
    return None


def _base(project: ProjectDetails) -> str:
    return project.root.rstrip("/").rpartition("/")[2].lower()


LONGEST_NAME = 200
DIRECTORIES = 3


class ProjectAdmin(Struct, frozen=True, kw_only=True):
    """`is_there`: whether a directory is; `has_commit`: whether the repository in one has a commit.

    `on_move`: what is known of where projects lie is to be looked up anew. `without_embedding` runs something
    while nobody makes vectors: they are stored by the keys of memories, which change."""

    store: Store
    origin_of: Callable[[str], Origin]
    is_there: Callable[[str], bool]
    has_commit: Callable[[str, str], bool]
    on_move: Callable[[], None]
    on_change: OnChange
    clean: Callable[[str], str]
    without_embedding: Callable[[Callable[[], int]], int]

    def overview(self) -> api.ProjectsOverview:
        found = self.store.projects.all()
        return api.ProjectsOverview(
            [answers.project_overview(each, is_there=self.is_there(each.root)) for each in found],
            merge_hints(found, self.is_there, self.has_commit),
        )

    def rename(self, given: str, name: str) -> api.RenameAnswer:
        project = self._one("project", given)
        name = " ".join(self.clean(name).split())
        if not name:
            raise InvalidInput("name", "The name must not be empty.")
        if len(name) > LONGEST_NAME:
            raise InvalidInput("name", f"The name is longer than {LONGEST_NAME} characters.")
        self.store.projects.rename(project.id, name)
        self.on_change([project.id])
        return api.RenameAnswer(project.key, project.name, name)

    def merge(self, given: str, into: str, *, dry_run: bool) -> api.MergeProjectsAnswer:
        source, target = self._one("from", given), self._one("into", into)
        if source.id == target.id:
            raise InvalidInput("into", f"{given!r} and {into!r} are the same project.")
        answer = api.MergeProjectsAnswer(
            dry_run=dry_run,
            from_=api.ProjectName(source.key, source.name),
            into=api.ProjectName(target.key, target.name),
            sessions=source.sessions,
            observations=source.observations,
        )
        if not dry_run:
            self.without_embedding(lambda: self.store.projects.merge(source.id, target.id))
            self.on_move()
            self.on_change([source.id, target.id])
        return answer

    def relocated(self, project: Project, origin: Origin) -> Project:
        """Its new directory, if it was moved: its sessions work elsewhere, and the old directory is gone."""
        if not origin.root or origin.root == project.root or self.is_there(project.root):
            return project
        if not self.is_there(origin.root):
            return project
        self.store.projects.set_root(project.id, origin.root)
        now = next((one for one in self.store.projects.all(with_sizes=False) if one.id == project.id), None)
        name = project.name
        # A project that others were merged into has sessions in their directories, which do not determine its
        # name.
        if now is not None and not now.named and origin.key == project.key and origin.name != name:
            name = origin.name
            self.store.projects.rename(project.id, name, by_hand=False)
        self.on_move()
        return replace(project, root=origin.root, name=name)

    def relocated_by_sessions(self, project: Project) -> Project:
        """The same, according to the directories of its last sessions."""
        if self.is_there(project.root):
            return project
        for cwd in self.store.sessions.directories(project.id, DIRECTORIES):
            origin = self.origin_of(cwd)
            if self.is_there(cwd) and origin.key == project.key:
                return self.relocated(project, origin)
        return project

    def _one(self, field: str, given: str) -> ProjectDetails:
        """By its key, or by its name if only one has it: what is done to it is not easily taken back."""
        found = self.store.projects.all(with_sizes=False)
        by_key = [one for one in found if given == one.key or given in one.merged]
        named = by_key or [one for one in found if given == one.name]
        if not named:
            raise NotFound(f"No project {given!r}. To list all: claude-mem projects")
        if len(named) > 1:
            keys = ", ".join(one.key for one in named)
            raise InvalidInput(
                field, f"{len(named)} projects are named {given!r}. Use the key instead: {keys}."
            )
        return named[0]


def is_directory(root: str) -> bool:
    return bool(root) and Path(root).is_dir()
