"""Puts together how another program's memory is read, for the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from claude_mem.backfill import incumbent
from claude_mem.backfill.gained import Gained, Project, folders
from claude_mem.backfill.incumbent import ProjectOf
from claude_mem.capture import places
from claude_mem.model.portable import Record
from claude_mem.queue import origin
from claude_mem.settings import Settings, neighbour
from claude_mem.store import theirs
from claude_mem.store.theirs import Theirs
from claude_mem.wiring import cleaning


@dataclass(frozen=True, slots=True)
class Adoptable:
    """An open database of the TypeScript claude-mem."""

    tables: Theirs
    settings: Settings

    def counts(self) -> dict[str, int]:
        """Rows, by table."""
        counted = {name: self.tables.count(name) for name in (*incumbent.TABLES, *incumbent.UNREAD)}
        return {name: count for name, count in counted.items() if count}

    def records(self, project_of: ProjectOf, gained: Gained) -> Iterator[Record]:
        def clean(text: str) -> str:
            return cleaning.cleaned(text, self.settings)

        return incumbent.read(self.tables, clean=clean, project_of=project_of, gained=gained)


@contextmanager
def adopting(settings: Settings, path: Path) -> Iterator[Adoptable | None]:
    """None: it is no database of the TypeScript claude-mem. Raises StoreError, if it cannot be read."""
    if not neighbour.is_anothers(path):  # ours, or none at all
        yield None
        return
    with theirs.opened(path) as tables:
        yield Adoptable(tables, settings) if incumbent.is_one(tables) else None


def adoptable(settings: Settings) -> Path | None:
    """Where another program keeps a database under our name: the TypeScript claude-mem, most likely."""
    usual = Path.home() / ".claude-mem" / places.DATABASE
    return next(filter(neighbour.is_anothers, (settings.place(places.DATABASE), usual)), None)


def project_under(name: str, paths: list[str]) -> Project | None:
    """The project that a directory of that name is, if it is still there, judged by files that lay in it."""
    for folder in folders(name, paths):
        if Path(folder).is_dir():
            found = origin.resolve(Path(folder))
            if found.name == name:
                return Project(found.key, found.name, found.root, found.remote)
    return None
