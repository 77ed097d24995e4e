"""Uses the extension pgvector, if a database has it: a copy of the vectors that PostgreSQL compares itself.

Without it, each process compares the vectors that it holds. The extension may be created,
dropped or updated at any time; a starting process creates what is missing (`pgvector.sql`) and copies in
steps.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from msgspec import Struct

from claude_mem.store.relational.part import Connection, Writer, execute

if TYPE_CHECKING:
    from claude_mem.store.postgres.connection import PostgresConnection, Row

OLDEST = (0, 7)
"""The first version with `halfvec`."""
COPIED_AT_ONCE = 500
"""How many vectors are copied at a time, which takes about 50 ms."""
ALL = "all"
"""The stored value when all are copied; before that, it is the last copied key."""
BEFORE_ALL = -1 << 63

_SCRIPT = Path(__file__).with_suffix(".sql")
_REMOVAL = "DROP TABLE IF EXISTS memory_halfvecs; DROP FUNCTION IF EXISTS vector_changed() CASCADE"


class PgvectorState(Struct, frozen=True):
    """The state of pgvector in a database."""

    available: str | None
    """The version that PostgreSQL would create; None: it is not on that server."""
    installed: str | None
    schema: str | None
    """The extension's schema, quoted."""
    has_type: bool
    """Whether it is new enough, and we have permission to use it."""
    is_made: bool
    """Whether our objects that need it exist and work."""
    is_begun: bool
    """Whether some of them exist."""
    copied: str | None
    """`ALL`, or the last copied key."""


def found(db: Connection) -> PgvectorState:
    row = execute(db, "pgvector_found").fetchone()
    return PgvectorState(
        row["available"],
        row["installed"],
        row["schema"],
        has_type=bool(row["has_type"]),
        is_made=row["is_made"],
        is_begun=row["is_begun"],
        copied=row["copied"],
    )


def described(state: PgvectorState) -> str:
    """The state for people: only the version, if pgvector is in use."""
    if state.installed is None:
        return "not installed"
    if not state.has_type:
        return f"{state.installed}, not used (0.7 or newer is needed, in a schema that we may use)"
    if not state.is_made:
        return f"{state.installed}, used after a restart"
    return state.installed if state.copied == ALL else f"{state.installed}, copying vectors"


def is_to_do(db: PostgresConnection) -> bool:
    """Whether a start has to create or remove something."""
    state = found(db)
    if state.has_type:
        return not state.is_made
    return state.is_begun or (_is_offered(state) and bool(execute(db, "may_create_pgvector").fetchone()[0]))


def bring_up_to_date(raw: psycopg.Connection[Row], db: PostgresConnection) -> None:
    """In the transaction that brings the schema up to date. Whatever it is not allowed to do, or fails to,
    leaves a database without it."""
    state = found(db)
    if _is_offered(state):
        try:
            with raw.transaction():
                raw.execute("CREATE EXTENSION vector WITH SCHEMA public")
        except psycopg.OperationalError:
            raise
        except psycopg.Error:  # not allowed, most often
            pass
        state = found(db)
    if state.has_type and not state.is_made:
        assert state.schema is not None
        raw.execute(f"SET LOCAL search_path = claude_mem, {state.schema}".encode())
        raw.execute(_SCRIPT.read_bytes())
        raw.execute("SET LOCAL search_path = claude_mem, public")
    elif not state.has_type and state.is_begun:
        raw.execute(_REMOVAL)


def _is_offered(state: PgvectorState) -> bool:
    if state.installed is not None or state.available is None:
        return False
    return tuple(int(part) for part in re.findall(r"\d+", state.available)[:2]) >= OLDEST


def copy(writer: Writer) -> int:
    """Some of the vectors that were stored before the database had it. In the background, by one process; a
    second one would do no harm."""

    def work(db: PostgresConnection) -> int:
        state = found(db)
        if not state.is_made or state.copied == ALL:
            return 0
        after = BEFORE_ALL if state.copied is None else int(state.copied)
        row = execute(db, "copy_halfvecs", after=after, limit=COPIED_AT_ONCE).fetchone()
        value = str(row["last"]) if row["number"] else ALL
        execute(db, "set_derived", name="halfvecs", value=value)
        return int(row["number"])

    return writer.run(work)
