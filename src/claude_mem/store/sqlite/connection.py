"""Connections to the SQLite file: opening, readers, the writer, and the meaning of errors.

An fsync costs the same for one caller as for sixty-four. Callers of the writer pass a function of the
connection and block. Each function runs in its own savepoint, and callers return only when the group's
commit is on disk.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from msgspec import Struct, field

from claude_mem.model.errors import StoreDamaged, StoreError, StoreUnavailable
from claude_mem.model.refs import memory_key, span
from claude_mem.store.relational.part import SQL as SHARED
from claude_mem.store.relational.part import VectorIndex, WordIndex, statements
from claude_mem.store.relational.rows import storable
from claude_mem.store.relational.text_matcher import EVERYWHERE, Span
from claude_mem.store.sqlite import text_index, vector_index

_PRIMARY = 0xFF  # the low byte of an extended code says what, the rest where

_UNAVAILABLE = {
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_NOMEM,
}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
"""What Python's sqlite3 raises; the second when a damaged file makes SQLite's own message undecodable."""


def translate(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    name = getattr(error, "sqlite_errorname", None)
    detail = f"{error} ({name})" if name else str(error)
    if code is not None and code & _PRIMARY in _UNAVAILABLE:
        return StoreUnavailable(detail)
    if code is not None and code & _PRIMARY in _DAMAGED:
        return StoreDamaged(str(path), detail)
    if code is None and isinstance(error, sqlite3.OperationalError | UnicodeDecodeError):
        return StoreDamaged(str(path), detail)  # Python could not read the text it was given
    return StoreError(detail)


@contextmanager
def translated(path: Path, db: sqlite3.Connection | None = None) -> Iterator[None]:
    """SQLite's and the file system's errors leave as ours; `db`, if given, is closed on the way out."""
    try:
        yield
    except (*SQLITE_ERRORS, OSError) as error:
        if db is not None:
            db.close()
        if isinstance(error, OSError):
            raise StoreUnavailable(f"{error.strerror or error}: {error.filename or path}") from error
        raise translate(error, path) from error


APPLICATION_ID = 0x636D656D  # "cmem": how `file` and our own code recognize a claude-mem database

BUSY_TIMEOUT_MS = 5_000

_WRITER = (
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
    "PRAGMA synchronous = FULL",  # an acknowledged event survives power loss; group commit pays for it
    "PRAGMA foreign_keys = ON",
    "PRAGMA secure_delete = ON",  # forget means forget: freed bytes are overwritten
    "PRAGMA temp_store = MEMORY",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA wal_autocheckpoint = 4000",  # 16 MiB: a burst pays for few checkpoints, a reader for no long log
    "PRAGMA trusted_schema = OFF",
    "PRAGMA cell_size_check = ON",  # notices a malformed page when it is read, not when it is overrun
)
_READER = (
    f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}",
    "PRAGMA query_only = ON",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA trusted_schema = OFF",
)


def open_writer(path: Path) -> SqliteConnection:
    """The one connection that writes. The file must exist: creating it is `schema.create`'s decision."""
    db = _connect(path, "mode=rw", _WRITER)
    with translated(path, db):
        (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        db.close()
        raise StoreUnavailable(f"the file system of {path} cannot hold a write-ahead log")
    return db


def open_reader(path: Path) -> SqliteConnection:
    """Opens a connection that cannot write."""
    return _connect(path, "mode=ro", _READER)


def open_sealed(path: Path) -> SqliteConnection:
    """Opens a file that nothing writes to, without locks and without creating files."""
    return _connect(path, "mode=ro&immutable=1", _READER)


def open_draft(path: Path) -> SqliteConnection:
    """A file that is renamed into place when it is finished, so it needs no journal until then."""
    return _connect(path, "mode=rw", ("PRAGMA journal_mode = MEMORY", "PRAGMA synchronous = OFF"))


def shrinking(db: sqlite3.Connection) -> None:
    """What is unused can be given back in small steps: before the first table is made, or a `VACUUM`."""
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")


def empty_log(db: sqlite3.Connection) -> bool:
    """Move the log into the database and cut it off; False if a reader stood in the way of some of it."""
    # Do not wait for a reader (a backup may take seconds), because hooks are waiting for the writer.
    db.execute("PRAGMA busy_timeout = 0")
    try:
        busy, _in_log, _moved = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        db.execute(f"PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}")
    return not busy


def _connect(path: Path, options: str, pragmas: tuple[str, ...]) -> SqliteConnection:
    with translated(path):
        db = sqlite3.connect(
            f"{path.absolute().as_uri()}?{options}",
            uri=True,
            factory=SqliteConnection,
            isolation_level=None,  # transactions are begun and ended in our own words
            check_same_thread=False,  # the writer's thread and the readers' pool see to it
        )
    db.row_factory = sqlite3.Row
    db.text_factory = _decoded
    with translated(path, db):
        for pragma in pragmas:
            db.execute(pragma)
    return db


_decoded = partial(str, encoding="utf-8", errors="replace")
"""A flipped bit in a text costs one letter; it must not stop the queue."""


T = TypeVar("T")

SQL = Path(__file__).with_name("sql")


def queries() -> dict[str, str]:
    return statements(SHARED, SQL)[0]


def conditions() -> dict[str, str]:
    """The parts that lists are put together of."""
    return statements(SHARED, SQL)[1]


class SqliteConnection(sqlite3.Connection):
    """A connection that runs the statements of the `.sql` files."""

    queries = property(lambda _: queries())
    conditions = property(lambda _: conditions())
    words: WordIndex = text_index
    vectors: VectorIndex = vector_index
    key = staticmethod(memory_key)

    def span(self, project_id: int | None, /) -> Span:
        return EVERYWHERE if project_id is None else span(project_id)

    def run(self, statement: str, parameters: Mapping[str, Any], /) -> sqlite3.Cursor:
        try:
            return self.execute(statement, parameters)
        except (UnicodeEncodeError, OverflowError):  # rare, so looked for only when SQLite has refused
            return self.execute(statement, {name: storable(value) for name, value in parameters.items()})

    def tuples(self, statement: str, parameters: Mapping[str, Any], /) -> list[Any]:
        found = self.run(statement, parameters)
        found.row_factory = None
        return found.fetchall()

    def insert(self, statement: str, parameters: Mapping[str, Any], /) -> int:
        added = self.run(statement, parameters).lastrowid
        assert added is not None
        return added


IDLE = 4


class Readers:
    """A few connections that cannot write, lent for one short transaction each."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._idle: list[SqliteConnection] = []
        self._lock = Lock()
        self._closed = False

    @contextmanager
    def read(self) -> Iterator[SqliteConnection]:
        """One view of the database, unchanged by what is written meanwhile."""
        db = self._borrow()
        with translated(self._path):
            try:
                db.execute("BEGIN")
                yield db
                db.execute("COMMIT")
            except BaseException:
                db.close()
                raise
        self._give_back(db)

    def close(self) -> None:
        """Closes idle connections; those in use are closed when they are returned."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    def _borrow(self) -> SqliteConnection:
        with self._lock:
            if self._closed:
                raise StoreUnavailable("it was closed")
            if self._idle:
                return self._idle.pop()
        return open_reader(self._path)

    def _give_back(self, db: SqliteConnection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < IDLE:
                self._idle.append(db)
                return
        db.close()


GROUP = 64


class _Task(Struct, frozen=True, eq=False):
    work: Callable[[SqliteConnection], Any]
    alone: bool
    answer: Future[Any] = field(default_factory=Future)


class Writer:
    """One thread with the one writing connection, committing what waits as a group. The connection is its own
    from here on: it closes it at the end."""

    def __init__(self, db: SqliteConnection, path: Path) -> None:
        self._db, self._path = db, path
        self._waiting: SimpleQueue[_Task | None] = SimpleQueue()
        self._door = Lock()  # nobody is let in behind the one who says that we are closing
        self._closed = False
        # Daemon: a process that dies without closing must not hang on a thread that only waits.
        self._thread = Thread(target=self._serve, name="claude-mem-writer", daemon=True)
        self._thread.start()

    def run(self, work: Callable[[SqliteConnection], T]) -> T:
        """Runs it in a transaction: durable on return, rolled back if it raises."""
        return self._submit(_Task(work, alone=False))  # type: ignore[no-any-return]

    def alone(self, work: Callable[[SqliteConnection], T]) -> T:
        """Run it between transactions: for what SQLite does not do inside one."""
        return self._submit(_Task(work, alone=True))  # type: ignore[no-any-return]

    def close(self) -> None:
        """Finishes the submitted functions, then closes the connection."""
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
        """Runs the group in one transaction, each function in its savepoint; then releases every caller."""
        try:
            self._db.execute("BEGIN IMMEDIATE")
            outcomes = [self._attempt(task) for task in group]
            self._db.execute("COMMIT")
        except BaseException as error:
            # The transaction is lost (disk full, I/O error): none of it may be acknowledged.
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
            return None, self._fault(error) if isinstance(error, SQLITE_ERRORS) else error
        self._db.execute("RELEASE task")
        return value, None

    def _run_alone(self, task: _Task) -> None:
        try:
            task.answer.set_result(task.work(self._db))
        except BaseException as error:  # the caller's to handle; this thread serves the others
            task.answer.set_exception(self._fault(error) if isinstance(error, SQLITE_ERRORS) else error)

    def _fault(self, error: BaseException) -> Exception:
        """A new one for each caller: an exception raised in two threads would share its traceback."""
        fault: StoreError = StoreUnavailable(f"the transaction was lost: {error}")
        if isinstance(error, SQLITE_ERRORS):
            fault = translate(error, self._path)
        fault.__cause__ = error
        return fault

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):  # the next BEGIN reports whatever is still wrong
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")


def vacuum(db: SqliteConnection) -> None:
    """Rewrite the file without unused pages; from then on it can return pages incrementally."""
    shrinking(db)
    db.execute("VACUUM")
