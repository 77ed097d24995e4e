"""Migrates a PostgreSQL database to this version's schema, or leaves it exactly as it is.

Our tables are in a separate schema, so a database may contain other tables. Several processes may start at
the same time: one migrates, and the others wait for it.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
from psycopg import errors

from claude_mem.model.errors import StoreForeign, StoreTooNew, StoreUnavailable
from claude_mem.store.postgres import pgvector
from claude_mem.store.postgres.connection import (
    LOCK,
    MEMBER_ROLE,
    SCHEMA,
    PostgresConnection,
    Row,
    connect,
    error_of,
    name_of,
)

OLDEST = 15
"""The oldest PostgreSQL that our statements are tested on."""

_HERE = Path(__file__).parent

VERSION = max(int(file.name[:4]) for file in (_HERE / "migrations").glob("*.sql"))
"""The version of the newest schema. To change it, add the next file to `migrations/`, and make the same
change in `schema.sql`. `access.sql` defines who may see and change what, and is run after either."""


def bring_up_to_date(url: str) -> None:
    """Make or migrate it; raises StoreForeign or StoreTooNew with nothing changed."""
    try:
        with connect(url) as raw:
            require_supported(raw.info.server_version)
            db = PostgresConnection(raw)
            if _version(db, url) == VERSION and not pgvector.is_to_do(db):
                return  # those who write are waited for only if there is something to change
            with raw.transaction():
                db.run(db.queries["lock_schema"], {"lock": LOCK})
                version = _version(db, url)  # asked again: another may have made it meanwhile
                for script in _scripts(version):
                    raw.execute(script.read_bytes())
                pgvector.bring_up_to_date(raw, db)
                raw.execute((_HERE / "access.sql").read_bytes())
                db.run(db.queries["set_version"], {"version": VERSION})
    except psycopg.Error as error:
        raise error_of(error) from error


def require_supported(server_version: int) -> None:
    """Raises StoreUnavailable for a server that is too old: 140005 is PostgreSQL 14.5."""
    if server_version // 10_000 < OLDEST:
        raise StoreUnavailable(f"it is PostgreSQL {server_version // 10_000}; {OLDEST} or newer is needed")


def _scripts(version: int | None) -> list[Path]:
    """The scripts that lead from a version, or from nothing, to ours."""
    if version is None:
        return [_HERE / "schema.sql"]
    return sorted((_HERE / "migrations").glob("*.sql"))[version - 1 :]


_MADE_ELSEWHERE = (errors.UniqueViolation, errors.DuplicateObject, errors.InternalError_)
"""Errors when a process on another database of the same server created it. The last is "tuple concurrently
updated"."""
ATTEMPTS = 10


def make_member_role(url: str) -> None:
    """The role that members' transactions run as, and what it may touch. Roles are the whole server's, so it
    may be there already; only whoever may make roles, or was made a member of it, can use it."""
    for attempt in range(ATTEMPTS):
        try:
            with connect(url) as raw, raw.transaction():
                _make_role(raw)
        except psycopg.Error as error:
            if not isinstance(error, _MADE_ELSEWHERE) or attempt == ATTEMPTS - 1:
                raise error_of(error) from error
        else:
            return


def _make_role(raw: psycopg.Connection[Row]) -> None:
    db = PostgresConnection(raw)
    db.run(db.queries["lock_schema"], {"lock": LOCK})
    found = db.run(db.queries["member_role"], {"role": MEMBER_ROLE}).fetchone()
    if found["bypasses"]:
        raise StoreUnavailable(
            f"the role {MEMBER_ROLE} is a superuser or bypasses row-level security. "
            f"Run: ALTER ROLE {MEMBER_ROLE} NOSUPERUSER NOBYPASSRLS"
        )
    if not found["usable"]:
        _grant_role(raw, exists=found["exists"], user=found["name"])
    raw.execute((_HERE / "role.sql").read_bytes())


def _grant_role(raw: psycopg.Connection[Row], *, exists: bool, user: str) -> None:
    quoted = '"' + user.replace('"', '""') + '"'
    grant = f"GRANT {MEMBER_ROLE} TO {quoted}"
    if raw.info.server_version >= 160_000:
        grant += " WITH SET TRUE, INHERIT FALSE"
    try:
        with raw.transaction():
            if not exists:
                raw.execute(f"CREATE ROLE {MEMBER_ROLE} NOLOGIN".encode())
            raw.execute(grant.encode())
    except errors.InsufficientPrivilege as error:
        made = "" if exists else f"CREATE ROLE {MEMBER_ROLE} NOLOGIN; "
        raise StoreUnavailable(
            f"the database user {user} is not allowed to create the role {MEMBER_ROLE} or grant it. "
            f"Let an administrator of the database run: {made}{grant}"
        ) from error


def _version(db: PostgresConnection, url: str) -> int | None:
    """The schema's version; None: our schema does not exist yet."""
    found = db.run(db.queries["schema_found"], {"schema": SCHEMA}).fetchone()
    if not found["tables"]:
        return None
    if not found["ours"]:
        raise StoreForeign(name_of(url), f"its schema {SCHEMA} contains tables of another program")
    version = int(db.run(db.queries["found_version"], {}).fetchone()["version"])
    if version > VERSION:
        raise StoreTooNew(name_of(url), found=version, known=VERSION)
    return version
