"""Runs two server processes on one embedded PostgreSQL, and measures their processor, memory and disk use."""

from __future__ import annotations

import http.client
import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from tests.harness import postgres_server, team_servers
from tests.harness.team_servers import ServerProcess

from claude_mem.api.team import NewGrant, NewKey, NewMember

PATIENCE_S = 120
_TICK = os.sysconf("SC_CLK_TCK")
_WAITING = "SELECT 1 FROM claude_mem.unindexed UNION ALL SELECT 1 FROM claude_mem.unembedded LIMIT 1"
_SIZES = """
SELECT c.relname, pg_table_size(c.oid), pg_indexes_size(c.oid), c.reltuples
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
WHERE n.nspname = 'claude_mem' AND c.relkind = 'r'
"""


@dataclass(frozen=True, slots=True)
class Caller:
    """One member's machine, as one of the servers sees it."""

    port: int
    key: str

    def ask(self, method: str, path: str, body: bytes | None = None, kind: str = "application/json") -> bytes:
        """Over a connection of its own: a machine calls seldom. Raises RuntimeError if it fails."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        headers = {"Authorization": f"Bearer {self.key}"} | ({"Content-Type": kind} if body else {})
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            reply = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path.partition('?')[0]}: {answer.status} {reply[:300]!r}")
        return reply


@dataclass(frozen=True, slots=True)
class Used:
    """Processor seconds so far, of the servers and of PostgreSQL."""

    servers: float
    postgres: float

    def since(self, before: Used) -> Used:
        return Used(self.servers - before.servers, self.postgres - before.postgres)


@dataclass(slots=True)
class Peak:
    """The most that was seen at once."""

    connections: int = 0
    server_mib: float = 0.0
    postgres_mib: float = 0.0


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes on disk, by table: the rows, and their indexes."""

    tables: Mapping[str, int]
    indexes: Mapping[str, int]

    @property
    def total(self) -> int:
        return sum(self.tables.values()) + sum(self.indexes.values())


@dataclass(slots=True)
class Fleet:
    url: str
    servers: list[ServerProcess] = field(default_factory=list)
    callers: list[Caller] = field(default_factory=list)
    postmaster: int = 0

    @property
    def pids(self) -> list[int]:
        return [each.process.pid for each in self.servers]

    def enroll(self, count: int) -> list[str]:
        """New members' keys."""
        with team_servers.opened(self.url) as store:
            keys = [store.directory.begin("m0", "laptop")[0]]
            for number in range(1, count):
                store.directory.add_member(NewMember(name=f"m{number}"))
                keys.append(store.directory.add_key(NewKey(member=f"m{number}", machine="laptop"))[0])
        return keys

    def new_key(self, member: str, name: str) -> str:
        """Of another machine of a member's."""
        with team_servers.opened(self.url) as store:
            return store.directory.add_key(NewKey(member=member, machine=name))[0]

    def grant(self, projects: Mapping[str, str]) -> None:
        """By member: who writes to which project."""
        with team_servers.opened(self.url) as store:
            for member, project in projects.items():
                store.directory.grant(NewGrant(project=project, member=member, level="write"))

    def used(self) -> Used:
        return Used(
            sum(map(_seconds, self.pids)), sum(map(_seconds, _family(self.postmaster))) + self._ended()
        )

    def _ended(self) -> float:
        """Of PostgreSQL's processes that have ended: their parent keeps the sum."""
        fields = _stat(self.postmaster)
        return (int(fields[13]) + int(fields[14])) / _TICK if fields else 0.0

    def settle(self) -> None:
        """Until what was pushed is indexed and has vectors."""
        with psycopg.connect(self.url, autocommit=True) as db:
            while db.execute(_WAITING).fetchone():
                time.sleep(0.2)

    def sizes(self) -> Sizes:
        with psycopg.connect(self.url, autocommit=True) as db:
            rows = db.execute(_SIZES).fetchall()
        return Sizes({row[0]: row[1] for row in rows}, {row[0]: row[2] for row in rows})

    def count(self, table: str) -> int:
        with psycopg.connect(self.url, autocommit=True) as db:
            row = db.execute(f"SELECT COUNT(*) FROM claude_mem.{table}").fetchone()
        return int(row[0]) if row else 0

    @contextmanager
    def watched(self, every_s: float = 1.0) -> Iterator[Peak]:
        """Looks once in a while at what is held."""
        peak, ended = Peak(), threading.Event()

        def look() -> None:
            with psycopg.connect(self.url, autocommit=True) as db:
                while not ended.wait(every_s):
                    row = db.execute(
                        "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database()"
                    ).fetchone()
                    peak.connections = max(peak.connections, (row[0] if row else 1) - 1)  # not this one
                    peak.server_mib = max(peak.server_mib, *map(pss_mib, self.pids))
                    peak.postgres_mib = max(
                        peak.postgres_mib, sum(map(pss_mib, [self.postmaster, *_family(self.postmaster)]))
                    )

        watcher = threading.Thread(target=look, daemon=True)
        watcher.start()
        try:
            yield peak
        finally:
            ended.set()
            watcher.join()


@contextmanager
def fleet(name: str, members: int, processes: int = 2) -> Iterator[Fleet]:
    """A team's server on a new database of that name, with so many members."""
    with ExitStack() as closing:
        # As it comes, durable: `fsync` is on.
        postgres = closing.enter_context(postgres_server.running())
        assert postgres.pid
        with psycopg.connect(postgres.url(), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}")
        made = Fleet(postgres.url(name), postmaster=postgres.pid)
        keys = made.enroll(members)
        for _ in range(processes):
            running = team_servers.running(made.url, CLAUDE_MEM_VECTORS="builtin")
            made.servers.append(closing.enter_context(running))
        # A balancer would spread them as evenly.
        made.callers = [Caller(made.servers[nth % processes].port, key) for nth, key in enumerate(keys)]
        yield made


def _family(parent: int) -> list[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children")
    with suppress(OSError):
        return [int(pid) for pid in children.read_text().split()]
    return []


def _stat(pid: int) -> list[str]:
    """The fields after the name of the command, from the third on."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return []


def _seconds(pid: int) -> float:
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICK if fields else 0.0


def pss_mib(pid: int) -> float:
    """Its share: what processes have in common counts once."""
    with suppress(OSError, ValueError, StopIteration):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024
    return 0.0
