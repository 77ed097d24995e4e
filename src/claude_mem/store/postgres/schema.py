"""Brings a PostgreSQL database to the schema this version knows, or leaves it exactly as it is.

Our tables are in a schema of their own, so a database may have others'. Several processes may start at once:
one migrates, the others wait for it.
"""

from __future__ import annotations

from pathlib import Path

import psycopg

from claude_mem.model.errors import StoreForeign, StoreTooNew
from claude_mem.store.postgres.connection import LOCK, SCHEMA, PostgresConnection, connect, error_of, name_of

VERSION = 1
"""Of the newest schema. A change of it is the next file in `migrations/`, and the same change in
`schema.sql`."""

_HERE = Path(__file__).parent


def bring_up_to_date(url: str) -> None:
    """Make or migrate it; raises StoreForeign or StoreTooNew with nothing changed."""
    try:
        with connect(url) as raw:
            db = PostgresConnection(raw)
            if _version(db, url) == VERSION:
                return  # those who write are waited for only if there is something to change
            with raw.transaction():
                db.run(db.queries["lock_schema"], {"lock": LOCK})
                if _version(db, url) is None:  # asked again: another may have made it meanwhile
                    raw.execute((_HERE / "schema.sql").read_bytes())
                    db.run(db.queries["set_version"], {"version": VERSION})
    except psycopg.Error as error:
        raise error_of(error) from error


def _version(db: PostgresConnection, url: str) -> int | None:
    """None: there is nothing of ours yet."""
    found = db.run(db.queries["schema_found"], {"schema": SCHEMA}).fetchone()
    if not found["tables"]:
        return None
    if not found["ours"]:
        raise StoreForeign(name_of(url), f"its schema {SCHEMA} contains tables of another program")
    version = int(db.run(db.queries["found_version"], {}).fetchone()["version"])
    if version > VERSION:
        raise StoreTooNew(name_of(url), found=version, known=VERSION)
    return version
