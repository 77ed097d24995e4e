"""What came of another source: how much was read, what was passed over, what had to be called otherwise."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath

from msgspec import Struct, field

from claude_mem.model.records import Record

MOST_REASONS = 50


class Project(Struct, frozen=True):
    """To which a source's memory belongs."""

    key: str
    name: str
    root: str = ""
    remote: str | None = None

    def record(self) -> dict[str, object]:
        return {"key": self.key, "name": self.name, "root": self.root, "remote": self.remote}


class ImportReport(Struct):
    read: Counter[str] = field(default_factory=Counter)  # records, by kind
    skipped: Counter[tuple[str, str]] = field(default_factory=Counter)  # by kind and why
    remapped: Counter[tuple[str, str]] = field(default_factory=Counter)  # by its type and ours
    projects: dict[str, str] = field(default_factory=dict)  # by name: the key

    def count(self, record: dict[str, object]) -> Record:
        kind = str(record["kind"])
        self.read[kind] += 1
        if kind == "project":
            self.projects[str(record["name"])] = str(record["key"])
        return record

    def skip(self, kind: str, why: str) -> None:
        self._tally(self.skipped, (kind, why))

    def remap(self, theirs: str, ours: str) -> None:
        self._tally(self.remapped, (theirs[:40] or "none", ours))

    @staticmethod
    def _tally(counter: Counter[tuple[str, str]], key: tuple[str, str]) -> None:
        full = len(counter) >= MOST_REASONS and key not in counter
        counter[(key[0], "other") if full else key] += 1


def project_named(name: str) -> Project:
    """One of which no more is known than its name."""
    return Project(f"name:{name}", name)


def folders(name: str, paths: Iterable[str]) -> list[str]:
    """Directories of that name which files lie under, the commonest first: where a project may be."""
    found: Counter[str] = Counter()
    for path in paths:
        found.update(str(folder) for folder in PurePosixPath(path).parents if folder.name == name)
    return [folder for folder, _ in found.most_common()]
