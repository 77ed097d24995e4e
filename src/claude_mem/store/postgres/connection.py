"""Connections to a PostgreSQL database: opening, pooling, and the meaning of errors.

psycopg is an extra, imported only when a PostgreSQL database is opened. Parameters are bound in the server.
Its log quotes statements that fail, and so does not contain memory text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import psycopg
from psycopg import errors, sql
from psycopg.adapt import Loader
from psycopg.pq import TransactionStatus

from claude_mem.model.errors import StoreError, StoreForbidden, StoreTooNew, StoreUnavailable
from claude_mem.model.refs import Ref, wide_key
from claude_mem.store.postgres import text_index, vector_index
from claude_mem.store.relational.part import SQL as SHARED
from claude_mem.store.relational.part import Cursor, VectorIndex, WordIndex, statements
from claude_mem.store.relational.rows import integer, text
from claude_mem.store.relational.text_matcher import EVERYWHERE, Span
from claude_mem.store.team import Identity, Service, acting

T = TypeVar("T")

SQL = Path(__file__).with_name("sql")
SCHEMA = "claude_mem"
MEMBER_ROLE = "claude_mem_member"
"""The role of members' transactions, on a team's server."""
LOCK = 0x636D656D  # "cmem": of our advisory locks, the first half
IDLE = 4
ATTEMPTS = 8
"""How often a transaction is tried after a conflict: the same new row, or a deadlock."""
_MET_ANOTHER = (errors.UniqueViolation, errors.DeadlockDetected, errors.SerializationFailure)


TEXTS = frozenset(("types", "concepts", "authors", "roots", "folders", "tool_use_ids"))
"""The lists of strings; all others are lists of numbers."""

_PARAMETER = re.compile(r"(?<![:\w]):(\w+)")
_MAYBE_NULL = re.compile(r"(?<![:\w]):(\w+)(?= IS (?:NOT )?NULL\b)")
"""Parameters that may be NULL: numbers, except for the texts below."""
NULLABLE_TEXTS = frozenset(("session", "project", "subtitle", "some"))
_LIST = re.compile(r"\bIN \(SELECT value FROM json_each\(:(\w+)\)\)")
_ORDERED_JOIN = re.compile(r"\bCROSS JOIN (\w+ AS \w+\s+ON\b)")
_CHOSEN_INDEX = re.compile(r" INDEXED BY \w+")
_NO_INDEX = re.compile(r"(?<![^\s(])\+(?=[a-z])")
_LOCK = re.compile(r"/\* (FOR UPDATE[\w ]*) \*/")
_SAME = re.compile(r"\bIS (?=:\w)")


def translated(statement: str) -> str:
    """A statement of the shared `.sql` files, as PostgreSQL reads it.

    They are written for both databases, in what both read alike but for six things: parameters, their types
    where nothing but NULL shows them, comparisons with what may be NULL, lists that are given as JSON, locks
    of rows, which SQLite reads as comments, and SQLite's hints to its planner, which PostgreSQL does without.
    What needs more than that is written twice.
    """
    statement = _SAME.sub("IS NOT DISTINCT FROM ", _LOCK.sub(r"\1", statement.replace("INSTR(", "STRPOS(")))
    plain = _NO_INDEX.sub("", _CHOSEN_INDEX.sub("", _ORDERED_JOIN.sub(r"JOIN \1", statement)))
    typed = _MAYBE_NULL.sub(_typed, _LIST.sub(_elements, plain.replace("%", "%%")))
    return _PARAMETER.sub(r"%(\1)s", typed)


def _typed(found: re.Match[str]) -> str:
    return f"CAST(:{found[1]} AS {'text' if found[1] in NULLABLE_TEXTS else 'bigint'})"


def _elements(found: re.Match[str]) -> str:
    """An array, made before the rows are looked at: a list that is joined would be read after the rules of a
    team's database have been applied to all rows, for reading it could fail and tell of them."""
    value = "value" if found[1] in TEXTS else "CAST(value AS bigint)"
    return f"= ANY (ARRAY(SELECT {value} FROM json_array_elements_text(CAST(:{found[1]} AS json)) AS value))"  # noqa: S608 - of our own files


def _statements() -> tuple[dict[str, str], dict[str, str]]:
    queries, conditions = statements(SHARED, SQL)
    return (
        {name: translated(statement) for name, statement in queries.items()},
        {name: translated(part) for name, part in conditions.items()},
    )


def error_of(error: psycopg.Error) -> StoreError:
    """Converts an error, without the server's DETAIL, which quotes the row."""
    message = error.diag.message_primary or ("" if error.sqlstate else str(error))
    detail = " ".join(message.split()) or type(error).__name__
    if isinstance(error, errors.InsufficientPrivilege):
        return StoreForbidden(detail)
    if isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return StoreUnavailable(detail)
    return StoreError(detail)


class Row:
    """By the names of its columns, or by their places."""

    __slots__ = ("_places", "_values")

    def __init__(self, places: Mapping[str, int], values: Sequence[Any]) -> None:
        self._places, self._values = places, values

    def keys(self) -> list[str]:
        return list(self._places)

    def __getitem__(self, column: str | int) -> Any:
        return self._values[column if isinstance(column, int) else self._places[column]]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)


def _rows(cursor: psycopg.Cursor[Any]) -> Callable[[Sequence[Any]], Row]:
    places = {column.name: at for at, column in enumerate(cursor.description or ())}
    return lambda values: Row(places, values)


NUL, JSON_NUL = "\ufdd0", "\\u0000"
"""PostgreSQL's texts cannot contain NUL. It is stored as this character, which Unicode reserves for internal
use. In the arrays that statements search, which are JSON, it is escaped."""
_JSON_STANDS_FOR_NUL = "\\ufdd0"


class _Text(Loader):
    """A text, as it was passed."""

    def load(self, data: Any) -> str:
        found = bytes(data).decode()
        return found.replace(NUL, "\0").replace(_JSON_STANDS_FOR_NUL, JSON_NUL)


class _Number(Loader):
    """A sum of integers is an integer."""

    def load(self, data: Any) -> int | float:
        digits = bytes(data)
        return float(digits) if b"." in digits else int(digits)


class PostgresConnection:
    """One connection, in a transaction, that runs the statements of the `.sql` files."""

    queries, conditions = _statements()
    words: WordIndex = text_index
    vectors: VectorIndex = vector_index

    def __init__(self, raw: psycopg.Connection[Row]) -> None:
        self.raw = raw

    def key(self, project_id: int, session_db_id: int, ref: Ref, /) -> int:
        del project_id  # beside it
        return wide_key(session_db_id, ref)

    def span(self, project_id: int | None, /) -> Span:
        """The span of a project, which is the project itself."""
        return EVERYWHERE if project_id is None else (project_id, project_id)

    def run(self, statement: str, parameters: Mapping[str, Any], /) -> Cursor:
        given = {name: _storable(value) for name, value in parameters.items()}
        return self.raw.execute(statement.encode(), given)

    def tuples(self, statement: str, parameters: Mapping[str, Any], /) -> list[Any]:
        return [tuple(row) for row in self.run(statement, parameters)]

    def insert(self, statement: str, parameters: Mapping[str, Any], /) -> int:
        returning = f"{statement.removesuffix(';')} RETURNING id"
        return int(self.run(returning, parameters).fetchone()[0])


def _storable(value: Any) -> Any:
    """A value as PostgreSQL can store it: no lone surrogates, no NUL, flags as numbers."""
    if isinstance(value, str):
        plain = text(str(value)).replace("\0", NUL)
        return plain.replace(JSON_NUL, _JSON_STANDS_FOR_NUL) if plain.startswith("[") else plain
    return integer(int(value)) if isinstance(value, int) else value


_PATIENCE = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "tcp_user_timeout": "60000",
}
"""Without this, it would take minutes to detect a connection that was lost by sleep or a network change."""


def _address(url: str) -> dict[str, Any]:
    try:
        return dict(psycopg.conninfo.conninfo_to_dict(url))
    except psycopg.Error:
        # Not "from" the error: it quotes the address, and so the password.
        raise StoreUnavailable(
            "CLAUDE_MEM_DATABASE_URL is not the address of a PostgreSQL database"
        ) from None


def connect(url: str, holder: int | None = None, role: str | None = None) -> psycopg.Connection[Row]:
    try:
        raw = psycopg.connect(
            **(_PATIENCE | _address(url)),
            autocommit=True,
            row_factory=_rows,
            prepare_threshold=None,  # planned for the values at hand: how rare a word is decides
            client_encoding="utf8",
        )
        raw.adapters.register_loader("numeric", _Number)
        raw.adapters.register_loader("text", _Text)
        raw.execute(f"SET search_path = {SCHEMA}, public")
        if holder is not None:
            raw.execute(f"SET claude_mem.holder = {holder}")
        if role is not None:
            raw.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
    except psycopg.Error as error:
        raise error_of(error) from error
    return raw


_ACTING = "SELECT " + ", ".join(
    f"set_config('claude_mem.{name}', %({name})s, true)"
    for name in ("member", "machine", "scopes", "key", "holder")
)


class Pool:
    """A few idle connections, lent for one transaction each.

    `owner`: on a team's server, the role that owns the tables. Then each transaction says whom it is for. It
    says so for itself only: a pooler in between may run the next one on another connection."""

    def __init__(self, url: str, holder: int, owner: str | None = None) -> None:
        self._url, self._holder, self._owner = url, holder, owner
        self._idle: list[psycopg.Connection[Row]] = []
        self._lock = Lock()
        self._closed = False
        self.on_connect: Callable[[], None] = lambda: None
        """Called before a new connection is made, because other connections may have been lost."""

    @contextmanager
    def lend(self, begin: str) -> Iterator[PostgresConnection]:
        raw = self._begun(begin)
        try:
            yield PostgresConnection(raw)
            raw.execute("COMMIT")
        except psycopg.Error as error:
            self._undo(raw)
            raise error_of(error) from error
        except BaseException:
            self._undo(raw)
            raise
        self._give_back(raw)

    def close(self) -> None:
        """Closes idle connections; those in use are closed when they are returned."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for raw in idle:
            raw.close()

    def _begun(self, begin: str) -> psycopg.Connection[Row]:
        """A connection in a transaction. Idle ones may have lost their server, and are replaced."""
        while (raw := self._borrow()) is not None:
            with suppress(psycopg.Error):
                self._begin(raw, begin)
                return raw
            raw.close()
        self.on_connect()
        raw = connect(self._url, self._holder, role=self._owner and MEMBER_ROLE)
        try:
            self._begin(raw, begin)
        except psycopg.Error as error:
            raw.close()
            raise error_of(error) from error
        return raw

    def _begin(self, raw: psycopg.Connection[Row], begin: str) -> None:
        """Begins a transaction in one round trip."""
        if self._owner is None:
            raw.execute(begin.encode())
            return
        identity = acting()
        role = self._owner if isinstance(identity, Service) else MEMBER_ROLE
        member = identity if isinstance(identity, Identity) else None
        # Bound here: the server binds one statement at a time. None of it is a memory's.
        psycopg.ClientCursor(raw).execute(
            f"{begin}; SET LOCAL ROLE {sql.Identifier(role).as_string(raw)};"
            f" SET LOCAL search_path = {SCHEMA}, public; {_ACTING}".encode(),
            {
                "member": member.member if member else "",
                "machine": member.machine if member else "",
                "scopes": ",".join(member.scopes) if member else "",
                "key": str(member.key_id) if member else "",
                "holder": str(self._holder),
            },
        )

    def _borrow(self) -> psycopg.Connection[Row] | None:
        with self._lock:
            if self._closed:
                raise StoreUnavailable("it was closed")
            return self._idle.pop() if self._idle else None

    def _undo(self, raw: psycopg.Connection[Row]) -> None:
        with suppress(psycopg.Error):
            raw.execute("ROLLBACK")
        self._give_back(raw)

    def _give_back(self, raw: psycopg.Connection[Row]) -> None:
        with self._lock:
            is_whole = not raw.closed and raw.info.transaction_status == TransactionStatus.IDLE
            if is_whole and not self._closed and len(self._idle) < IDLE:
                self._idle.append(raw)
                return
        raw.close()


class Readers:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @contextmanager
    def read(self) -> Iterator[PostgresConnection]:
        """One view of the database, unchanged by what is written meanwhile."""
        with self._pool.lend("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY") as db:
            yield db


class Writer:
    """Any thread writes for itself: rows are locked, not the database."""

    def __init__(self, pool: Pool, name: str, version: int) -> None:
        """`version`: of the schema that this process knows."""
        self._pool, self._name, self._version = pool, name, version

    def run(self, work: Callable[[PostgresConnection], T]) -> T:
        """Run it in a transaction; durable on return, and undone as a whole if it raises. If it meets another
        transaction, it is run again."""
        for attempt in range(ATTEMPTS):
            try:
                with self._pool.lend("BEGIN") as db:
                    self._require_current(db)
                    return work(db)
            except StoreError as error:
                if not isinstance(error.__cause__, _MET_ANOTHER) or attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError("unreachable")

    def _require_current(self, db: PostgresConnection) -> None:
        """A process that does not know the schema must not write. A migration waits for writers, and they
        wait for it: in a statement of its own, for the next one sees what was migrated meanwhile."""
        db.run(db.queries["wait_for_migration"], {"lock": LOCK})
        found = int(db.run(db.queries["found_version"], {}).fetchone()["version"])
        if found > self._version:
            raise StoreTooNew(self._name, found=found, known=self._version)


def name_of(url: str) -> str:
    """The database's name in messages, never with its password."""
    given = _address(url)
    database, host = given.get("dbname") or given.get("user") or "", given.get("host") or "localhost"
    return f"PostgreSQL database {database} on {host}"
