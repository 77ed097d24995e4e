"""What a person does with projects: looks at them, renames them, merges them. And what is done unasked: a
project whose directory was moved is looked for where its sessions are now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from claude_mem.model.events import Origin
from claude_mem.ports.desk import BadQuestion, Changed, Data, NotThere
from claude_mem.ports.housekeeping import Housed, Projects
from claude_mem.ports.library import Project, Shelves
from claude_mem.recall import drift, shown

LONGEST_NAME = 200
DIRECTORIES = 3


@dataclass(frozen=True, slots=True)
class Housing:
    """`is_there`: whether a directory is; `has_commit`: whether the repository in one has a commit; `moved`:
    what is known of where projects lie is to be looked up anew; `alone`: runs something while nobody makes
    vectors, which are of places in the index."""

    projects: Projects
    shelves: Shelves
    origin_of: Callable[[str], Origin]
    is_there: Callable[[str], bool]
    has_commit: Callable[[str, str], bool]
    moved: Callable[[], None]
    changed: Changed
    clean: Callable[[str], str]
    alone: Callable[[Callable[[], int]], int]

    def overview(self) -> Data:
        found = self.projects.all()
        return {
            "items": [_shown(project, is_there=self.is_there(project.root)) for project in found],
            "hints": [
                {"from": hint.gone.key, "into": hint.into.key, "names": [hint.gone.name, hint.into.name]}
                | {"why": hint.why}
                for hint in drift.hints(found, self.is_there, self.has_commit)
            ],
        }

    def rename(self, given: str, name: str) -> Data:
        project = self._one("project", given)
        name = " ".join(self.clean(name).split())
        if not name:
            raise BadQuestion("name", "What is it to be called? The name is empty.")
        if len(name) > LONGEST_NAME:
            raise BadQuestion("name", f"The name is longer than {LONGEST_NAME} characters.")
        self.projects.rename(project.id, name)
        self.changed([project.id])
        return {"key": project.key, "before": project.name, "name": name}

    def merge(self, given: str, into: str, *, dry_run: bool) -> Data:
        gone, stays = self._one("from", given), self._one("into", into)
        if gone.id == stays.id:
            raise BadQuestion("into", f"{given!r} and {into!r} are the same project.")
        told = {
            "dry_run": dry_run,
            "from": {"key": gone.key, "name": gone.name},
            "into": {"key": stays.key, "name": stays.name},
            "sessions": gone.sessions,
            "observations": gone.observations,
        }
        if not dry_run:
            self.alone(lambda: self.projects.merge(gone.id, stays.id))
            self.moved()
            self.changed([gone.id, stays.id])
        return told

    def placed(self, project: Project, origin: Origin) -> Project:
        """Where it lies now, if it was moved: its sessions work elsewhere, and its old place is gone."""
        if not origin.root or origin.root == project.root or self.is_there(project.root):
            return project
        if not self.is_there(origin.root):
            return project
        self.projects.place(project.id, origin.root)
        now = next((one for one in self.projects.all(weighed=False) if one.id == project.id), None)
        name = project.name
        # A project that others were merged into has sessions in their directories: those do not name it.
        if now is not None and not now.named and origin.key == project.key and origin.name != name:
            name = origin.name
            self.projects.rename(project.id, name, by_hand=False)
        self.moved()
        return replace(project, root=origin.root, name=name)

    def looked_for(self, project: Project) -> Project:
        """The same, by where its last sessions worked."""
        if self.is_there(project.root):
            return project
        for cwd in self.shelves.directories(project.id, DIRECTORIES):
            origin = self.origin_of(cwd)
            if self.is_there(cwd) and origin.key == project.key:
                return self.placed(project, origin)
        return project

    def _one(self, field: str, given: str) -> Housed:
        """By its key, or by its name if only one has it: what is done to it is not easily taken back."""
        found = self.projects.all(weighed=False)
        by_key = [one for one in found if given == one.key or given in one.merged]
        named = by_key or [one for one in found if given == one.name]
        if not named:
            raise NotThere(f"There is no project {given!r}. See: claude-mem projects")
        if len(named) > 1:
            keys = ", ".join(one.key for one in named)
            raise BadQuestion(
                field, f"{len(named)} projects are called {given!r}; say which by its key: {keys}."
            )
        return named[0]


def _shown(project: Housed, *, is_there: bool) -> Data:
    return {
        "id": project.id,
        "name": project.name,
        "key": project.key,
        "root": project.root,
        "remote": project.remote,
        "sessions": project.sessions,
        "observations": project.observations,
        "last_at": shown.iso(project.last_at) if project.last_at is not None else None,
        "last_at_epoch": project.last_at,
        "characters": project.characters,
        "merged": list(project.merged),
        "is_there": is_there,
    }
