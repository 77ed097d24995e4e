"""Removes deleted text from the file: where its bytes may remain, and how each place is cleaned.

- The full-text index only marks deleted words until its segments are merged into one, which is done in short
  steps.
- SQLite overwrites freed space itself (`secure_delete`), but when it rebuilds a page to make room, copies of
  rows that moved may remain in its unused middle. `page_scan` looks for them. If there are any, the file is
  rewritten, which is rare and takes about as long as copying it.
- The write-ahead log keeps old pages until it is truncated, which requires that no reader uses them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from claude_mem.model.errors import StoreUnavailable
from claude_mem.store.relational import forget
from claude_mem.store.relational.part import Connection, execute
from claude_mem.store.sqlite import text_index
from claude_mem.store.sqlite.connection import Writer, empty_log, vacuum
from claude_mem.store.sqlite.page_scan import PageScan
from claude_mem.store.values import ForgetPlan, Forgotten

PAGES = 64
"""Pages of the index rewritten per transaction, which takes a few milliseconds."""

DEADLINE_S = 5.0
LOOK_AGAIN_S = 0.02

NOTE = "forgetting"
"""The entry in `derived` while deleted words may still be in the file."""


class Deletion(forget.Deletion):
    _writer: Writer

    def forget(self, plan: ForgetPlan) -> Forgotten:
        interrupted = self._writer.run(begin)
        words = PageScan()
        deleted = forget.Deleted(see=words.add)
        done = self.delete(plan, deleted)
        overwrite_deleted(self._writer, lambda: interrupted or deleted.edited or words.is_in(self._path()))
        return done

    def finish_forgetting(self) -> bool:
        with self._readers.read() as db:
            unfinished = is_unfinished(db)
        if unfinished:
            # What to search for is no longer known.
            overwrite_deleted(self._writer, lambda: True)
        return unfinished

    def _path(self) -> Path:
        with self._readers.read() as db:
            return Path(db.run("PRAGMA database_list", {}).fetchone()["file"])


def begin(db: Connection) -> bool:
    """Begins a deletion; returns whether an earlier one was not finished."""
    interrupted = is_unfinished(db)
    execute(db, "set_derived", name=NOTE, value="1")
    return interrupted


def is_unfinished(db: Connection) -> bool:
    return execute(db, "derived", name=NOTE).fetchone() is not None


def overwrite_deleted(writer: Writer, is_left: Callable[[], bool]) -> None:
    """`is_left`: whether copies of rows are left in the file, called when the file has all data."""
    merge(writer)
    cut_off(writer)
    if is_left():
        writer.alone(vacuum)
        cut_off(writer)
    writer.run(lambda db: execute(db, "forget_derived", name=NOTE))


def merge(writer: Writer) -> None:
    writer.run(lambda db: text_index.merge_segments(db, -PAGES))
    while writer.run(lambda db: text_index.merge_segments(db, PAGES)):
        pass


def cut_off(writer: Writer) -> None:
    """Truncates the log. Raises StoreUnavailable if a reader takes too long, such as a backup of a large
    file."""
    deadline = time.monotonic() + DEADLINE_S
    while not writer.alone(empty_log):
        if time.monotonic() > deadline:
            raise StoreUnavailable(
                "the deleted text is still in the log, because a reader keeps it open; run forget again"
            )
        time.sleep(LOOK_AGAIN_S)
