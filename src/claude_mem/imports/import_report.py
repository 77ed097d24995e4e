"""What the importers share: the project, the session for imported memory, and the report."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath

from msgspec import Struct, field

from claude_mem.model.events import Origin
from claude_mem.model.records import Record

MOST_REASONS = 50

Clean = Callable[[str], str]


def own_session_id(client: str, project: Origin) -> str:
    """The id of the session for what an importer found for a project."""
    return f"{client}-{hashlib.sha256(project.key.encode(errors='replace')).hexdigest()[:16]}"


class SourceReport(Struct):
    read: Counter[str] = field(default_factory=Counter)  # records, by kind
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind and why
    remapped: Counter[tuple[str, str]] = field(default_factory=Counter)  # by its type and ours
    projects: dict[str, str] = field(default_factory=dict)  # by name: the key

    def record(self, kind: str, /, **fields: object) -> Record:
        """A record that was read; it is counted."""
        self.read[kind] += 1
        return {"kind": kind, **fields}

    def project(self, project: Origin, at: int) -> Record:
        self.projects[project.name] = project.key
        known = {"key": project.key, "name": project.name, "root": project.root, "remote": project.remote}
        return self.record("project", **known, created_at=at)

    def begin(
        self, client: str, project: Origin, title: str, first: int, last: int | None = None
    ) -> Iterator[Record]:
        """The records of a project and of the session that holds what was imported for it."""
        yield self.project(project, first)
        ends = {} if last is None else {"updated_at": last, "completed_at": last}
        yield self.record(
            "session",
            session_id=own_session_id(client, project),
            project=project.key,
            title=title,
            client=client,
            status="completed",
            cwd=project.root or None,
            created_at=first,
            **ends,
        )

    def skip(self, kind: str, reason: str) -> None:
        self._tally(self.skipped, (kind, reason))

    def remap(self, source_type: str, new_type: str) -> None:
        self._tally(self.remapped, (source_type[:40] or "none", new_type))

    @staticmethod
    def _tally(counter: Counter[tuple[str, str]], key: tuple[str, str]) -> None:
        full = len(counter) >= MOST_REASONS and key not in counter
        counter[(key[0], "other") if full else key] += 1


def project_named(name: str) -> Origin:
    """A project that is known by name only."""
    return Origin(f"name:{name}", name, root="")


def folders(name: str, paths: Iterable[str]) -> list[str]:
    """Directories with that name that contain the files, most frequent first: candidates for the project."""
    found: Counter[str] = Counter()
    for path in paths:
        found.update(str(folder) for folder in PurePosixPath(path).parents if folder.name == name)
    return [folder for folder, _ in found.most_common()]
