"""Who writes: one thread with the one writing connection, committing what waits as a group.

An fsync costs the same for one caller as for sixty-four. Callers hand in a function of the connection and
block; each function runs in a savepoint of its own, and nobody is released before the group's commit is on
the disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from claude_mem.model.errors import StoreError, StoreUnavailable
from claude_mem.store.sqlite.faults import FAULTS, translate

T = TypeVar("T")

GROUP = 64


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    work: Callable[[sqlite3.Connection], Any]
    alone: bool
    answer: Future[Any] = field(default_factory=Future)


class Writer:
    """Owns its connection from here on: the thread uses it, and closes it at the end."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db, self._path = db, path
        self._waiting: SimpleQueue[_Task | None] = SimpleQueue()
        self._door = Lock()  # nobody is let in behind the one who says that we are closing
        self._closed = False
        # Daemon: a process that dies without closing must not hang on a thread that only waits.
        self._thread = Thread(target=self._serve, name="claude-mem-writer", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run it in a transaction; durable on return, and undone as a whole if it raises."""
        return self._submit(_Task(work, alone=False))  # type: ignore[no-any-return]

    def alone(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Run it between transactions: for what SQLite does not do inside one."""
        return self._submit(_Task(work, alone=True))  # type: ignore[no-any-return]

    def close(self) -> None:
        """Finish what was handed in, then close the connection."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._waiting.put(None)
        self._thread.join()

    def _submit(self, task: _Task) -> Any:
        with self._door:
            if self._closed:
                raise StoreUnavailable("it was closed")
            self._waiting.put(task)
        return task.answer.result()

    def _serve(self) -> None:
        open_ = True
        while open_:
            group = [self._waiting.get()]
            while len(group) < GROUP and group[-1] is not None:
                try:
                    group.append(self._waiting.get_nowait())
                except Empty:
                    break
            open_ = group[-1] is not None
            tasks = [task for task in group if task is not None]
            together = [task for task in tasks if not task.alone]
            if together:
                self._commit(together)
            for task in tasks:
                if task.alone:
                    self._run_alone(task)
        self._db.close()

    def _commit(self, group: list[_Task]) -> None:
        """All of the group in one transaction, each in its savepoint; then tell every caller."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            outcomes = [self._attempt(task) for task in group]
            self._db.execute("COMMIT")
        except BaseException as error:
            # The transaction is lost as a whole (disk full, I/O error): nothing of it may be acknowledged.
            self._roll_back()
            for task in group:
                task.answer.set_exception(self._fault(error))
            return
        for task, (value, failure) in zip(group, outcomes, strict=True):
            if failure is None:
                task.answer.set_result(value)
            else:
                task.answer.set_exception(failure)

    def _attempt(self, task: _Task) -> tuple[Any, BaseException | None]:
        self._db.execute("SAVEPOINT task")
        try:
            value = task.work(self._db)
        except BaseException as error:
            if not self._db.in_transaction:
                raise  # SQLite has undone the others' work with this one's
            self._db.execute("ROLLBACK TO task")
            self._db.execute("RELEASE task")
            return None, self._fault(error) if isinstance(error, FAULTS) else error
        self._db.execute("RELEASE task")
        return value, None

    def _run_alone(self, task: _Task) -> None:
        try:
            task.answer.set_result(task.work(self._db))
        except BaseException as error:  # the caller's to handle; this thread serves the others
            task.answer.set_exception(self._fault(error) if isinstance(error, FAULTS) else error)

    def _fault(self, error: BaseException) -> Exception:
        """A new one for each caller: an exception raised in two threads would share its traceback."""
        ours: StoreError = StoreUnavailable(f"the transaction was lost: {error}")
        if isinstance(error, FAULTS):
            ours = translate(error, self._path)
        ours.__cause__ = error
        return ours

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):  # the next BEGIN reports whatever is still wrong
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
