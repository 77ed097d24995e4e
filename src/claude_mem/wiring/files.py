"""What is done to the database from outside the worker: looked at, copied, put back."""

from __future__ import annotations

from pathlib import Path

from claude_mem.hook import paths
from claude_mem.model.clock import now
from claude_mem.serve import lock
from claude_mem.settings import Settings
from claude_mem.store.sqlite import Restored, recovery
from claude_mem.store.sqlite import backup as backups
from claude_mem.store.sqlite import statistics as surveying
from claude_mem.store.sqlite import statistics as tallying
from claude_mem.store.sqlite.statistics import Survey, Tally


def backup(settings: Settings) -> Path:
    """Copy the database now; a running worker goes on."""
    return backups.make(settings.database, settings.place(paths.BACKUPS), now())


def restore(settings: Settings, source: Path | None) -> Restored:
    """Put a backup (without a source, the newest whole one) in the database's place. Holds the worker's lock
    meanwhile, so that no hook starts a worker in between; raises LockHeld if one runs."""
    with lock.hold(settings.place(paths.WORKER_LOCK)):
        return recovery.restore(
            settings.database,
            clock=now,
            backups=settings.place(paths.BACKUPS),
            source=source,
        )


def survey(settings: Settings, *, thorough: bool = True) -> Survey:
    """What the database holds, seen from outside; works with the worker up, down or never there."""
    return surveying.survey_database(
        settings.database, settings.place(paths.BACKUPS), now(), thorough=thorough
    )


def foreign(settings: Settings) -> str | None:
    """Whose database lies in our place, as a sentence; None if it is ours, or there is none."""
    return surveying.foreign_owner(settings.database)


def tally(settings: Settings, since: int) -> Tally:
    """What came in since then and what became of it; asked of a database that a survey found current."""
    return tallying.count_since(settings.database, since, now())
