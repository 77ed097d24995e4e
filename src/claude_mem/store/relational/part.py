"""The base of a store's parts: a connection that runs named statements, for readers and writers.

The statements are in `.sql` files: shared ones here, the others in each store's own folder, under the same
names and with the same parameters and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

from claude_mem.model.clock import Clock
from claude_mem.model.refs import MemoryKind, Ref
from claude_mem.store.relational.rows import Value

if TYPE_CHECKING:
    from claude_mem.store.relational.memory_filters import KeyFilter
    from claude_mem.store.relational.text_matcher import Frequent, Matcher

T = TypeVar("T")
P = ParamSpec("P")


class Row(Protocol):
    """One row: by the names of its columns, or by their places."""

    def keys(self) -> Iterable[str]: ...
    def __getitem__(self, column: Any, /) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...


class Cursor(Protocol):
    """The rows of a statement, each read once."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def fetchmany(self, size: int, /) -> list[Any]: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class WordIndex(Protocol):
    """How the full-text index follows changed rows, in the transaction that changes them."""

    def take_out(self, db: Any, refs: Sequence[Ref]) -> None:
        """Before rows are deleted or changed."""

    def reindex(self, db: Any, refs: Sequence[Ref]) -> None:
        """After rows were changed."""

    def unindexed_count(self, db: Any) -> int:
        """The maximum number of rows that are not indexed yet."""

    def size_of_all(self, db: Any) -> int:
        """How many memories it has."""

    def matcher(
        self,
        db: Any,
        span: tuple[int, int],
        size: int,
        everything: int,
        frequent: Frequent,
        key_filter: KeyFilter | None = None,
    ) -> Matcher:
        """Looks words up in a span, which has `size` memories."""


class VectorIndex(Protocol):
    """How the vectors follow changed rows, in the transaction that changes them."""

    def take_out(self, db: Any, memory_keys: Sequence[int]) -> int:
        """Memories are forgotten: ours are gone with it, and counted; other backends' are noted."""

    def unembedded_count(self, db: Any) -> int:
        """How many memories have no vector, at most."""

    def make_again(self, db: Any, ref: Ref) -> None:
        """Marks a memory whose text changed. Its old vector stays until the new one is computed."""

    def move(self, db: Any, refs: Sequence[Ref], session_id: int, source: int, into: int) -> None:
        """Moves a session's memories to another project."""

    def follow(self, db: Any, ref: Ref, project_id: int, before: int) -> None:
        """Updates the vector of a memory that was moved from the session `before` to another one."""


class Connection(Protocol):
    """A connection to one of our databases, in a transaction."""

    @property
    def queries(self) -> Mapping[str, str]: ...
    @property
    def conditions(self) -> Mapping[str, str]: ...
    @property
    def words(self) -> WordIndex: ...
    @property
    def vectors(self) -> VectorIndex: ...

    def key(self, project_id: int, session_db_id: int, ref: Ref, /) -> int:
        """A memory's key in the indexes. Raises OverflowError when there is none for it."""

    def span(self, project_id: int | None, /) -> tuple[int, int]:
        """The first and the last key of a project in the indexes (None: of all projects), as the store's
        statements take them: memory keys on SQLite, project ids on PostgreSQL."""

    def run(self, statement: str, parameters: Mapping[str, Any], /) -> Cursor: ...
    def tuples(self, statement: str, parameters: Mapping[str, Any], /) -> list[Any]:
        """All rows, without the names of their columns: thousands are read that way."""

    def insert(self, statement: str, parameters: Mapping[str, Any], /) -> int:
        """Adds one row; returns its id."""


class Readers(Protocol):
    def read(self) -> AbstractContextManager[Connection]:
        """One view of the database, unchanged by what is written meanwhile."""


class Writer(Protocol):
    def run(self, work: Callable[[Any], T], /) -> T:
        """Runs it in a transaction: durable on return, rolled back if it raises."""


def execute(db: Connection, query: str, /, **parameters: Value) -> Cursor:
    """Runs a statement of the `.sql` files by its name."""
    return db.run(db.queries[query], parameters)


def tuples(db: Connection, query: str, /, **parameters: Value) -> list[Any]:
    """All rows of a statement of the `.sql` files, as tuples."""
    return db.tuples(db.queries[query], parameters)


def added(db: Connection, query: str, /, **parameters: Value) -> int:
    """The id of the row that a statement adds."""
    return db.insert(db.queries[query], parameters)


TABLES: dict[MemoryKind, str] = {
    "observation": "observations",
    "summary": "session_summaries",
    "prompt": "user_prompts",
    "evidence": "pending_messages",
}
"""The tables of memories. There is a statement for each kind with `{kind}` in its name."""


@cache
def statements(*folders: Path) -> tuple[dict[str, str], dict[str, str]]:
    """All of some folders, read once: queries, and the conditions that lists are put together of."""
    queries: dict[str, str] = {}
    conditions: dict[str, str] = {}
    for folder in folders:
        for file in sorted(folder.glob("*.sql")):
            (conditions if file.stem == "conditions" else queries).update(_named(file))
    return queries, conditions


def _named(file: Path) -> Iterator[tuple[str, str]]:
    text = file.read_text(encoding="utf-8")
    _preface, *entries = text.split("\n-- name: ")
    for entry in entries:
        name, _purpose, statement = entry.split("\n", 2)
        for kind, table in TABLES.items() if "{kind}" in name else [("", "")]:
            yield name.replace("{kind}", kind), statement.strip().replace("{table}", table)


def derived(db: Connection, name: str) -> str | None:
    """A value stored about the indexes, by name."""
    row = execute(db, "derived", name=name).fetchone()
    return None if row is None else str(row["value"])


def last_id(db: Connection, kind: MemoryKind) -> int:
    (last,) = execute(db, f"last_{kind}").fetchone()
    return int(last)


SQL = Path(__file__).with_name("sql")
"""The statements that all stores share."""


class Part:
    """A part of the store. Any thread may call it; any call may block, and raises StoreError."""

    def __init__(self, readers: Readers, writer: Writer, clock: Clock) -> None:
        self._readers, self._writer, self._clock = readers, writer, clock

    def _rows(self, query: str, /, **parameters: Value) -> list[Any]:
        with self._readers.read() as db:
            return execute(db, query, **parameters).fetchall()

    def _row(self, query: str, /, **parameters: Value) -> Row | None:
        with self._readers.read() as db:
            found: Row | None = execute(db, query, **parameters).fetchone()
            return found

    def _number(self, query: str, /, **parameters: Value) -> int:
        """The number in the only row of a statement's result; 0: no row."""
        with self._readers.read() as db:
            return int(execute(db, query, **parameters).fetchone()[0] or 0)

    def _change(self, query: str, /, **parameters: Value) -> int:
        """Runs the statement in a transaction, and returns how many rows were changed."""
        return self._writer.run(lambda db: execute(db, query, **parameters).rowcount)


AnyPart = TypeVar("AnyPart", bound=Part)


def transaction(
    method: Callable[Concatenate[AnyPart, Connection, P], T],
) -> Callable[Concatenate[AnyPart, P], T]:
    """A method that writes: called without the connection, durable on return, rolled back if it
    raises."""

    @wraps(method)
    def run(self: AnyPart, /, *args: P.args, **named: P.kwargs) -> T:
        return self._writer.run(lambda db: method(self, db, *args, **named))

    return run
