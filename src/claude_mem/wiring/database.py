"""What commands do with the database without a worker: inspect it, copy it, restore it, try an import on a
copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from msgspec import to_builtins

from claude_mem.api.memories import ImportAnswer
from claude_mem.hook import paths
from claude_mem.model.clock import now
from claude_mem.model.errors import ClaudeMemError, InvalidInput
from claude_mem.privacy.scrub import scrub_text
from claude_mem.recall.record_exchange import Importer
from claude_mem.serve import lock
from claude_mem.serve.requests import absorb_lines
from claude_mem.settings import Settings
from claude_mem.store.base import Transfer
from claude_mem.store.sqlite import backup as backups
from claude_mem.store.sqlite import recovery
from claude_mem.store.sqlite import survey as database_survey
from claude_mem.store.sqlite.copies import scratch
from claude_mem.store.values import Restored, Survey, UsageCounts


def postgres() -> ModuleType:
    """The store on PostgreSQL, imported late: it needs psycopg, which few have."""
    try:
        from claude_mem.store import postgres as found
    except ImportError as error:
        raise ClaudeMemError(
            f"CLAUDE_MEM_DATABASE_URL needs psycopg (in a clone: make install EXTRAS=postgres): {error}."
        ) from None
    return found


def _require_file(settings: Settings) -> None:
    if settings.database_url is not None:
        raise ClaudeMemError(
            "The memories are in PostgreSQL (CLAUDE_MEM_DATABASE_URL); claude-mem does not copy or restore "
            "it. Use pg_dump and pg_restore, or claude-mem export."
        )


def backup(settings: Settings) -> Path:
    """Copies the database now; a running worker continues."""
    _require_file(settings)
    return backups.make(settings.database, settings.data_path(paths.BACKUPS), now())


def restore(settings: Settings, source: Path | None) -> Restored:
    """Replaces the database with a backup (without a source, the newest complete one). Holds the worker's
    lock meanwhile, so that no hook starts a worker in between; raises LockHeld if one runs."""
    _require_file(settings)
    with lock.hold(settings.data_path(paths.WORKER_LOCK)):
        backups_folder = settings.data_path(paths.BACKUPS)
        return recovery.restore(settings.database, clock=now, backups=backups_folder, source=source)


def survey(settings: Settings, *, thorough: bool = True) -> Survey:
    """What the database holds, seen from outside; works with the worker up, down or never there."""
    if settings.database_url is not None:
        found: Survey = postgres().survey.survey_database(settings.database_url, now())
        return found
    return database_survey.survey_database(
        settings.database, settings.data_path(paths.BACKUPS), now(), thorough=thorough
    )


def foreign(settings: Settings) -> str | None:
    """That the database belongs to another program, as a sentence; None: it is ours, or there is none."""
    return database_survey.foreign_owner(settings.database)


def tally(settings: Settings, since: int) -> UsageCounts:
    """What was captured since then and what became of it. The database must have the current schema."""
    if settings.database_url is not None:
        counts: UsageCounts = postgres().survey.count_since(settings.database_url, since, now())
        return counts
    return database_survey.count_since(settings.database, since, now())


def _scratch(settings: Settings) -> AbstractContextManager[Transfer]:
    if settings.database_url is not None:
        shared: AbstractContextManager[Transfer] = postgres().upkeep.scratch(settings.database_url, now)
        return shared
    return scratch(settings.database, now)


@contextmanager
def trial_import(settings: Settings, *, own: bool) -> Iterator[Callable[[bytes], dict[str, Any]]]:
    """Answers lines as `POST /api/import` does."""
    with _scratch(settings) as copy:
        importer = Importer(
            transfer=copy,
            clock=now,
            clean=partial(
                scrub_text, extra_rules=settings.secret_patterns, extra_globs=settings.exclude_paths
            ),
            # Records from other tools are validated in detail when they are imported.
            import_observations=lambda records: ImportAnswer(imported=len(records)),
            catch_up=lambda: None,
        )

        def absorb(lines: bytes) -> dict[str, Any]:
            try:
                done: dict[str, Any] = to_builtins(absorb_lines(lines, partial(importer.absorb, own=own)))
            except InvalidInput as error:
                raise ClaudeMemError(str(error)) from None
            return done

        yield absorb
