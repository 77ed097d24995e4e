"""Chooses and builds the importers for the command line."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from claude_mem import git
from claude_mem.agents.claude_code import transcript_files
from claude_mem.hook import paths
from claude_mem.imports import claude_mem_ts, jsonl, memory_notes
from claude_mem.imports.claude_mem_ts import ProjectOf
from claude_mem.imports.import_report import (
    Clean,
    SourceReport,
    folders,
    own_session_id,
    project_named,
)
from claude_mem.model.events import Origin
from claude_mem.model.records import Record
from claude_mem.privacy import scrub
from claude_mem.privacy.excluded_projects import ExcludedProjects
from claude_mem.settings import Settings, foreign_database
from claude_mem.store import foreign_tables
from claude_mem.store.foreign_tables import ForeignDatabase


@contextmanager
def adopting(path: Path) -> Iterator[ForeignDatabase | None]:
    """The open database; None: it is not one of the TypeScript claude-mem. Raises StoreError if it cannot be
    read."""
    if not foreign_database.is_foreign_database(path):  # ours, or none at all
        yield None
        return
    with foreign_tables.opened(path) as tables:
        yield tables if claude_mem_ts.is_one(tables) else None


def rows_in(tables: ForeignDatabase) -> dict[str, int]:
    """How many rows its tables have."""
    counted = {name: tables.count(name) for name in (*claude_mem_ts.TABLES, *claude_mem_ts.UNREAD)}
    return {name: count for name, count in counted.items() if count}


def adopted(
    settings: Settings, tables: ForeignDatabase, project_of: ProjectOf, report: SourceReport
) -> Iterator[Record]:
    """The memory of the TypeScript claude-mem."""
    return claude_mem_ts.TypeScriptMemory(
        tables,
        clean=cleaner(settings),
        project_of=project_of,
        is_excluded=_excluder(settings),
        report=report,
    ).records()


def adoptable(settings: Settings) -> Path | None:
    """Where another program has a database under our name: the TypeScript claude-mem, most likely."""
    usual = Path.home() / ".claude-mem" / paths.DATABASE
    return next(
        filter(foreign_database.is_foreign_database, (settings.data_path(paths.DATABASE), usual)), None
    )


def project_under(name: str, paths: Sequence[str]) -> Origin | None:
    """The project that a directory of that name is, if it is still there, judged by files that lay in it."""
    for folder in folders(name, paths):
        if Path(folder).is_dir():
            found = git.resolve(Path(folder))
            if found.name == name:
                return found
    return None


def notes_in(
    settings: Settings, folder: Path, known: Callable[[str], Collection[str]], report: SourceReport
) -> Iterator[Record]:
    """The notes in a folder of Claude Code's, of one project or of all. `known`: the content keys of what a
    session, by its id, holds."""
    is_excluded = _excluder(settings)
    for index in transcript_files.indexes(folder):
        where = transcript_files.directory_of(index.parent.parent)
        project = git.resolve(Path(where)) if where else project_named(index.parent.parent.name)
        if is_excluded(project):
            report.skip("note", "excluded project")
            continue
        holds = known(own_session_id(memory_notes.CLIENT, project))
        yield from memory_notes.read(index, project, clean=cleaner(settings), report=report, known=holds)


def lines_of(settings: Settings, path: Path, project_of: ProjectOf, report: SourceReport) -> Iterator[Record]:
    """JSON Lines of another program. Raises OSError."""
    with path.open("rb") as file:
        at = int(path.stat().st_mtime * 1000)
        yield from jsonl.read(
            file,
            at=at,
            clean=cleaner(settings),
            report=report,
            project_of=lambda name: project_of(name, ()),
            unnamed=path.stem,
        )


def cleaner(settings: Settings) -> Clean:
    return partial(scrub.scrub_text, extra_rules=settings.secret_patterns, extra_globs=settings.exclude_paths)


def _excluder(settings: Settings) -> Callable[[Origin], bool]:
    is_excluded = ExcludedProjects(settings.excluded_projects).holds
    return lambda project: is_excluded(project.root or None, project.name)
