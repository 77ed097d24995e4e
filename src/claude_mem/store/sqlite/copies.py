"""Forgetting in the copies of the database that lie in `backups/`.

Each copy that holds it is rewritten: a second copy is made beside it, forgotten in as the database itself
is (its words, its bytes), and put in the first one's place. One of an older version is brought to this
version's tables on the way. What is damaged cannot be rewritten, so it is removed, and that is said.
"""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from claude_mem.model.clock import Clock
from claude_mem.model.errors import StoreDamaged, StoreError, StoreForeign, StoreTooNew
from claude_mem.ports.keeping import Doomed, Lying, Wanted
from claude_mem.store.sqlite import asides, backup, header, schema, tracing
from claude_mem.store.sqlite.connection import open_draft, open_sealed
from claude_mem.store.sqlite.faults import translated
from claude_mem.store.sqlite.files import copy, is_plain, private_directory, put_in_place
from claude_mem.store.sqlite.indexing import Indexing
from claude_mem.store.sqlite.keeping import SqliteKeeping
from claude_mem.store.sqlite.store import SqliteStore

SHOP = ".forgetting"
"""The folder a copy is rewritten in. Left over, it is of a worker that was killed: removed, begun anew."""

NAME = "copy.db"


@dataclass(frozen=True, slots=True)
class Copy:
    path: Path
    aside: Path | None = None  # the folder of a database that was put aside


class Copies:
    """One at a time: its owner sees to it. Raises nothing for one copy that would keep it from the others."""

    def __init__(self, backups: Path, clock: Clock) -> None:
        self._backups, self._clock = backups, clock

    def look(self, wanted: Wanted) -> list[Lying]:
        return [lying for one in found(self._backups) if (lying := _looked(one, wanted)) is not None]

    def forget(self, wanted: Wanted) -> list[Lying]:
        clear(self._backups)
        done = []
        for one in found(self._backups):
            lying = _looked(one, wanted)
            if lying is not None:
                rewritten = self._attempt(one, wanted) if lying.done == "holds" else lying
                done += [rewritten] if rewritten else []
        return done

    def _attempt(self, one: Copy, wanted: Wanted) -> Lying | None:
        shop = self._backups / f"{SHOP}-{os.getpid()}-{secrets.token_hex(4)}"
        try:
            with translated(one.path):
                private_directory(shop)
                changed = self._rewrite(one, shop, wanted)
        except StoreDamaged:
            return _removed(one, "it is damaged, so it cannot be rewritten")
        except (StoreError, OSError) as error:
            return _lying(one, "left", _clause(error))
        finally:
            shutil.rmtree(shop, ignore_errors=True)
        return _lying(one, "rewritten") if changed else None

    def _rewrite(self, one: Copy, shop: Path, wanted: Wanted) -> bool:
        """Whether there was anything to forget."""
        work = shop / NAME
        copy(one.path, work)
        log = one.path.with_name(one.path.name + "-wal")
        if is_plain(log):
            copy(log, shop / f"{NAME}-wal")
        with SqliteStore.open(work, clock=self._clock, backups=shop / "backups") as store:
            if store.recovered is not None:
                raise StoreDamaged(str(one.path), store.recovered.detail)
            keeping = SqliteKeeping(store.readers, store.writer, self._clock)
            if wanted.selection.file:
                Indexing(store.readers, store.writer).catch_up()
            with store.readers.read() as db:
                doomed = tracing.doomed(db, wanted)
            if doomed == Doomed():
                return False
            keeping.forget(doomed)
        with closing(open_draft(work)) as db:
            db.execute("PRAGMA journal_mode = DELETE")  # one file, complete by itself
        put_in_place(work, one.path)
        for suffix in ("-wal", "-shm", "-journal"):
            one.path.with_name(one.path.name + suffix).unlink(missing_ok=True)
        return True


def found(backups: Path) -> list[Copy]:
    copies = [Copy(one.path) for one in backup.found(backups)]
    if backups.is_dir() and not backups.is_symlink():
        for folder in sorted(backups.iterdir()):
            if asides.is_ours(folder):
                databases = (path for path in folder.iterdir() if path.suffix == ".db" and is_plain(path))
                copies += [Copy(path, folder) for path in sorted(databases)]
    return copies


def clear(backups: Path) -> int:
    """What killed workers have left half made. How many."""
    left = left_over(backups)
    for path in left:
        shutil.rmtree(path, ignore_errors=True)
    return len(left)


def left_over(backups: Path) -> list[Path]:
    """Folders in which copies were being rewritten. This process's own is in use."""
    others = (
        path for path in backups.glob(f"{SHOP}-*") if not path.name.startswith(f"{SHOP}-{os.getpid()}-")
    )
    return [path for path in others if path.is_dir() and not path.is_symlink()]


def _looked(one: Copy, wanted: Wanted) -> Lying | None:
    """None: it does not hold it. Without a change to the file, and without a copy of it where that will
    do."""
    try:
        return _lying(one, "holds") if _may_hold(one, wanted) else None
    except (StoreTooNew, StoreForeign) as error:
        return _lying(one, "left", _clause(error))
    except (StoreError, OSError):
        return None if _is_from_before(one, wanted) else _lying(one, "holds", "it is damaged")


def _is_from_before(one: Copy, wanted: Wanted) -> bool:
    """It was put aside before the memories in question were made; of other words nothing can be said."""
    at = asides.put_at(one.aside) if one.aside else None
    if at is None or wanted.sessions or not wanted.traces or not wanted.selection.refs:
        return False
    return at < min(trace.at for trace in wanted.traces)


def _may_hold(one: Copy, wanted: Wanted) -> bool:
    path = one.path
    with translated(path):
        says = header.read(path)
    if says is None:
        return False
    known = len(schema.migrations())
    if not says.ours:
        raise StoreForeign(str(path), "it holds somebody else's tables")
    if says.version > known:
        raise StoreTooNew(str(path), found=says.version, known=known)
    if says.version < known or wanted.selection.file or is_plain(path.with_name(path.name + "-wal")):
        return True  # to be seen in a copy that can be brought up to date
    with closing(open_sealed(path)) as db, translated(path):
        if one.aside is not None:  # a backup was read through when it was made
            (verdict,) = db.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise StoreDamaged(str(path), verdict)
        return tracing.doomed(db, wanted) != Doomed()


def _removed(one: Copy, why: str) -> Lying:
    try:
        if one.aside is not None:
            shutil.rmtree(one.aside)
        else:
            one.path.unlink(missing_ok=True)
    except OSError as error:
        return _lying(one, "left", _clause(error))
    return _lying(one, "removed", why)


def _lying(one: Copy, done: str, note: str = "") -> Lying:
    return Lying(str(one.path), "aside" if one.aside else "backup", done, note)


def _clause(error: Exception) -> str:
    said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return said.rstrip(".")
