"""Copies of the database in `backups/`: deletes memories from each, and removes expired copies."""

from __future__ import annotations

import os
import secrets
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from claude_mem.api.memories import CopyReport
from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreDamaged, StoreError, StoreForeign, StoreTooNew, StoreTooOld
from claude_mem.store.relational import forget
from claude_mem.store.relational.transfer import Transfer
from claude_mem.store.sqlite import backup, database_files, schema
from claude_mem.store.sqlite.connection import (
    Readers,
    SqliteConnection,
    Writer,
    open_draft,
    open_reader,
    open_sealed,
    translated,
)
from claude_mem.store.sqlite.database_files import beside, copy, is_plain, private_directory, put_in_place
from claude_mem.store.values import DeletionRequest, ForgetPlan

if TYPE_CHECKING:
    from claude_mem.store.sqlite.store import SqliteStore

DRAFTS = ".forgetting"
"""The prefix of the folder in which a copy is rewritten. Folders left by a killed worker are removed."""

NAME = "copy.db"


class Copy(Struct, frozen=True):
    path: Path
    quarantine: Path | None = None  # the folder of a database that was moved away

    def report(self, done: str, note: str | Exception = "") -> CopyReport:
        if isinstance(note, Exception):
            note = note.strerror if isinstance(note, OSError) and note.strerror else str(note)
        return CopyReport(
            str(self.path), "quarantine" if self.quarantine else "backup", done, note.rstrip(".")
        )


class Copies:
    """The copies of the database in `backups/`. The caller makes one call at a time. A failure with one copy
    is reported and does not stop the others.

    A copy that contains what is to be deleted is rewritten: a second copy is made, the deletion runs in it as
    in the database itself, and it replaces the first. A copy of an older version is migrated on the way. A
    damaged copy cannot be rewritten; it is removed, and the report says so."""

    def __init__(self, backups: Path, open_store: Callable[[Path, Path], SqliteStore]) -> None:
        self._backups, self._open = backups, open_store

    def look(self, request: DeletionRequest) -> list[CopyReport]:
        reports = (_report_of_copy(one, request) for one in find_copies(self._backups))
        return [report for report in reports if report is not None]

    def forget(self, request: DeletionRequest) -> list[CopyReport]:
        self.clear_drafts()
        reports = []
        for one in find_copies(self._backups):
            report = _report_of_copy(one, request)
            if report is not None and report.done == "holds":
                report = self._attempt(one, request)
            reports.append(report)
        return [report for report in reports if report is not None]

    def clear_drafts(self) -> None:
        for path in self._drafts():
            shutil.rmtree(path, ignore_errors=True)

    def surplus(self) -> list[Path]:
        if not self._backups.is_dir():
            return []
        return [
            *backup.surplus_backups(self._backups),
            *backup.surplus_quarantined(self._backups),
            *self._drafts(),
        ]

    def _drafts(self) -> list[Path]:
        """Folders in which copies were being rewritten. This process's own is in use."""
        prefix = f"{DRAFTS}-{os.getpid()}-"
        others = (path for path in self._backups.glob(f"{DRAFTS}-*") if not path.name.startswith(prefix))
        return [path for path in others if path.is_dir() and not path.is_symlink()]

    def _attempt(self, one: Copy, request: DeletionRequest) -> CopyReport | None:
        draft_folder = self._backups / f"{DRAFTS}-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            with translated(one.path):
                private_directory(draft_folder)
                changed = self._rewrite(one, draft_folder, request)
        except StoreDamaged:
            return _removed(one, "it is damaged, so it cannot be rewritten")
        except (StoreError, OSError) as error:
            return one.report("left", error)
        finally:
            shutil.rmtree(draft_folder, ignore_errors=True)
        return one.report("rewritten") if changed else None

    def _rewrite(self, one: Copy, draft_folder: Path, request: DeletionRequest) -> bool:
        """Rewrites a copy; returns whether it contained anything to delete."""
        work = draft_folder / NAME
        copy(one.path, work)
        if is_plain(beside(one.path, "-wal")):
            copy(beside(one.path, "-wal"), beside(work, "-wal"))
        with self._open(work, draft_folder / "backups") as store:
            if store.recovered is not None:
                raise StoreDamaged(str(one.path), store.recovered.detail)
            if request.selection.file:
                store.text_index.catch_up()
            with store.readers.read() as db:
                plan = forget.forget_plan_in_copy(db, request)
            if plan == ForgetPlan():
                return False
            store.deletion.forget(plan)
        with closing(open_draft(work)) as db:
            db.execute("PRAGMA journal_mode = DELETE")  # one file, complete by itself
        put_in_place(work, one.path)
        for suffix in ("-wal", "-shm", "-journal"):
            beside(one.path, suffix).unlink(missing_ok=True)
        return True


def find_copies(backups: Path) -> list[Copy]:
    copies = [Copy(one.path) for one in backup.find_backups(backups)]
    if backups.is_dir() and not backups.is_symlink():
        for folder in sorted(backups.iterdir()):
            if backup.is_quarantined(folder):
                databases = (path for path in folder.iterdir() if path.suffix == ".db" and is_plain(path))
                copies += [Copy(path, folder) for path in sorted(databases)]
    return copies


def _report_of_copy(one: Copy, request: DeletionRequest) -> CopyReport | None:
    """None: it does not hold it. Without a change to the file, and without a copy of it where that will
    do."""
    try:
        return one.report("holds") if _may_hold(one, request) else None
    except (StoreTooNew, StoreTooOld, StoreForeign) as error:
        return one.report("left", error)
    except (StoreError, OSError):
        return None if _is_from_before(one, request) else one.report("holds", "it is damaged")


def _is_from_before(one: Copy, request: DeletionRequest) -> bool:
    """It was moved away before the memories in question were made; of other words nothing can be said."""
    at = backup.quarantined_at(one.quarantine) if one.quarantine else None
    if at is None or request.sessions or not request.traces or not request.selection.refs:
        return False
    return at < min(trace.at for trace in request.traces)


def _may_hold(one: Copy, request: DeletionRequest) -> bool:
    path = one.path
    known = schema.migrations()
    with translated(path):
        header = schema.require_readable(path, database_files.read_header(path), known)
    if header is None:
        return False
    if header.version < schema.newest(known) or request.selection.file or is_plain(beside(path, "-wal")):
        return True  # to be seen in a copy that can be brought up to date
    with closing(open_sealed(path)) as db, translated(path):
        if one.quarantine is not None:  # a backup was read through when it was made
            database_files.require_sound(db, path)
        return forget.forget_plan_in_copy(db, request) != ForgetPlan()


def _removed(one: Copy, why: str) -> CopyReport:
    try:
        if one.quarantine is not None:
            shutil.rmtree(one.quarantine)
        else:
            one.path.unlink(missing_ok=True)
    except OSError as error:
        return one.report("left", error)
    return one.report("removed", why)


@contextmanager
def scratch(database: Path, clock: Clock) -> Iterator[Transfer]:
    """A trial on a copy of the database, so that it is invisible and leaves nothing behind."""
    # The empty name is a file that SQLite has removed from its folder before it writes to it.
    db = sqlite3.connect("", factory=SqliteConnection, isolation_level=None, check_same_thread=False)
    db.row_factory = sqlite3.Row
    with translated(database, db), closing(open_reader(database)) as source:
        source.backup(db)
        db.execute("PRAGMA synchronous = OFF")
    with closing(Writer(db, database)) as writer:
        yield Transfer(Readers(database), writer, clock)
