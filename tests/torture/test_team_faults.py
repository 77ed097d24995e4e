"""A team's server while processes are killed, PostgreSQL restarts, the network or a disk fails, and a clock
is wrong: nothing accepted is lost, nothing is doubled, nobody sees what is others'."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
from tests.harness import hook_process, postgres_server, team_servers
from tests.harness.fault_proxy import FaultProxy
from tests.harness.faults import fill, small_disk
from tests.harness.postgres import VERSIONS, Version, bare_database, new_database, programs
from tests.harness.postgres_server import PostgresServer
from tests.harness.team_load import Load, check
from tests.harness.team_servers import Caller, ServerProcess
from tests.harness.workers import free_port, until

from claude_mem.store.postgres.connection import LOCK
from claude_mem.store.postgres.schema import VERSION

pytestmark = [pytest.mark.prove, pytest.mark.parametrize("version", VERSIONS)]

FIRST_SCHEMA = Path(__file__).parents[1] / "fixtures" / "postgres" / "schema-1.sql"
MEMBERS = ("ada", "ben", "cem", "dora")
ROUNDS = 2
EACH = 30
"""Memories that must be accepted between two faults."""


@contextmanager
def team_of(url: str, *ports: int) -> Iterator[Load]:
    """Its members push through these ports until the block is left."""
    load = Load(url, MEMBERS, ports)
    load.prepare()
    yield load


def test_a_process_is_killed_over_and_over_while_members_push(version: Version) -> None:
    url = new_database(version)
    ports = (free_port(), free_port())
    with team_of(url, *ports) as load, ExitStack() as stack:
        servers = [_started(stack, url, port) for port in ports]
        load.open_projects()
        with load.running() as pushed:
            for number in range(ROUNDS * 2):
                pushed.wait_for(EACH)
                at = number % 2
                servers[at].process.kill()
                servers[at].process.wait()
                servers[at] = _started(stack, url, ports[at])
            pushed.wait_for(EACH)
        assert pushed.failures, "no push met a fault"
        assert check(load, ports[0]) >= pushed.count


def test_postgresql_is_restarted_at_once_while_members_push(version: Version) -> None:
    with postgres_server.running(programs(version)) as postgres:
        url = _database(postgres)
        with team_of(url, free_port()) as load, team_servers.running(url, port=load.ports[0]) as server:
            assert server.port
            load.open_projects()
            with load.running() as pushed:
                for _ in range(ROUNDS):
                    pushed.wait_for(EACH)
                    postgres.restart("immediate")
                pushed.wait_for(EACH)
            assert pushed.failures, "no push met a fault"
            assert check(load, server.port) >= pushed.count


def test_the_network_between_members_and_server_is_cut_slowed_and_silent(version: Version) -> None:
    url = new_database(version)
    with (
        FaultProxy() as proxy,
        team_of(url, proxy.port) as load,
        team_servers.running(url, "--public-url", f"http://127.0.0.1:{proxy.port}") as server,
    ):
        proxy.target = server.port
        load.open_projects()
        _break_and_heal(load, proxy)
        assert check(load, proxy.port) >= load.pushed.count


def test_the_network_between_server_and_postgresql_is_cut_slowed_and_silent(version: Version) -> None:
    with postgres_server.running(programs(version)) as postgres, FaultProxy(postgres.port) as proxy:
        url = _database(postgres)
        behind = postgres.url("team", port=proxy.port)
        with team_of(url, free_port()) as load, team_servers.running(behind, port=load.ports[0]) as server:
            assert server.port
            load.open_projects()
            _break_and_heal(load, proxy)
            assert check(load, server.port) >= load.pushed.count


def test_the_databases_disk_is_full_and_free_again(version: Version) -> None:
    """Without a restart of either server: the tables are on the full disk, PostgreSQL's log is not."""
    with postgres_server.running(programs(version)) as postgres:
        disk = postgres.folder.with_name(f"{postgres.folder.name}-disk")
        with small_disk(disk, "64m"):
            tables = disk / "tables"
            tables.mkdir(mode=0o700)
            disk.chmod(0o755)
            if postgres.user:
                shutil.chown(tables, postgres.user)
            with psycopg.connect(postgres.url(), autocommit=True) as db:
                db.execute(f"CREATE TABLESPACE small LOCATION '{tables}'".encode())
            url = _database(postgres, "TABLESPACE small")
            with team_of(url, free_port()) as load, team_servers.running(url, port=load.ports[0]) as server:
                assert server.port
                load.open_projects()
                with load.running() as pushed:
                    for _ in range(2):
                        pushed.wait_for(EACH)
                        hog = fill(disk)
                        until(lambda: "No space left" in postgres.log(), "PostgreSQL notices")
                        pushed.wait_for_failures("503", 3)
                        hog.unlink()
                    pushed.wait_for(EACH)
                assert check(load, server.port) >= pushed.count
        disk.rmdir()


def test_the_disk_of_the_whole_cluster_is_full_and_free_again(version: Version) -> None:
    """Its write-ahead log, too: PostgreSQL gives up, and is started again, as by its service, when there is
    room. The team's server stays."""
    folder = Path(tempfile.mkdtemp(prefix="claude-mem-postgres-disk-"))
    with small_disk(folder, "320m") as disk:
        disk.chmod(0o755)
        cluster = postgres_server.running(
            programs(version), disk / "cluster", min_wal_size="32MB", max_wal_size="48MB"
        )
        with cluster as postgres:
            url = _database(postgres)
            with team_of(url, free_port()) as load, team_servers.running(url, port=load.ports[0]) as server:
                assert server.port
                load.open_projects()
                with load.running() as pushed:
                    for _ in range(ROUNDS):
                        pushed.wait_for(EACH)
                        hog = fill(disk)
                        until(lambda: not _writes_on(postgres), "PostgreSQL has no room for its log")
                        pushed.wait_for_failures("503", 3)
                        hog.unlink()
                        if not _runs(postgres):
                            postgres.start()
                    pushed.wait_for(EACH)
                assert check(load, server.port) >= pushed.count
    folder.rmdir()


def _writes_on(postgres: PostgresServer) -> bool:
    """Whether it takes another segment of its log."""
    try:
        with psycopg.connect(postgres.url(), autocommit=True, connect_timeout=10) as db:
            db.execute("SELECT pg_logical_emit_message(false, 'test', repeat('x', 1000)), pg_switch_wal()")
    except psycopg.Error:
        return False
    return True


def _runs(postgres: PostgresServer) -> bool:
    """After it gave up it recovers by itself, or ends."""
    pid = postgres.pid
    while pid is not None and Path(f"/proc/{pid}").exists():
        try:
            psycopg.connect(postgres.url(), connect_timeout=10).close()
        except psycopg.Error:
            time.sleep(0.1)
        else:
            return True
    return False


def test_a_process_whose_clock_is_an_hour_off_takes_part_as_any_other(version: Version) -> None:
    url = new_database(version)
    with ExitStack() as stack:
        ports = (free_port(), free_port())
        load = stack.enter_context(team_of(url, *ports))
        for port, hours in zip(ports, (0, 1), strict=True):
            assert _started(stack, url, port, hours_ahead=hours).port == port
        load.open_projects()
        with load.running() as pushed:
            pushed.wait_for(EACH * ROUNDS)
        for port in ports:
            assert check(load, port) >= pushed.count


def test_of_processes_that_migrate_at_once_one_is_killed_and_one_makes_the_team(version: Version) -> None:
    """They wait for somebody who writes, so all of them are there when it begins."""
    url = bare_database(version)
    with psycopg.connect(url, autocommit=True, options="-c search_path=claude_mem,public") as db:
        db.execute(FIRST_SCHEMA.read_bytes())
        db.execute("UPDATE schema_version SET version = 1")
        db.execute("INSERT INTO counters (name, backend, value) VALUES ('accepted', 0, 7)")
    command = [sys.executable, "-m", "claude_mem", "server", "init", "--admin", "ada", "--json"]
    env = hook_process.environment(Path("/nonexistent"), CLAUDE_MEM_DATABASE_URL=url)
    with ExitStack() as stack, psycopg.connect(url) as writes, psycopg.connect(url, autocommit=True) as db:
        writes.execute(f"SELECT pg_advisory_xact_lock_shared({LOCK})".encode())
        begun = [_begun(stack, command, env) for _ in range(3)]
        waiting = "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        until(lambda: len(db.execute(waiting).fetchall()) == 3, "all of them wait")
        begun[0].kill()
        writes.rollback()
        answers = [process.communicate(timeout=60)[0] for process in begun[1:]]
        assert sorted(process.returncode for process in begun[1:]) == [0, 1]
    (made,) = [json.loads(answer) for answer in answers if answer]
    with psycopg.connect(url, autocommit=True, options="-c search_path=claude_mem,public") as db:
        assert db.execute("SELECT version FROM schema_version").fetchone() == (VERSION,)
        assert db.execute("SELECT value FROM counters WHERE name = 'accepted'").fetchone() == (7,)
    with team_servers.running(url) as server:
        assert Caller(server.port, made["key"]).get("/api/team")["member"] == "ada"


def _begun(stack: ExitStack, command: list[str], env: dict[str, str]) -> subprocess.Popen[bytes]:
    process = stack.enter_context(
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    )
    stack.callback(process.kill)
    return process


def _started(stack: ExitStack, url: str, port: int, hours_ahead: int = 0) -> ServerProcess:
    command = _ahead(hours_ahead) if hours_ahead else [sys.executable, "-m", "claude_mem"]
    server = stack.enter_context(team_servers.running(url, port=port, command=command))
    assert server.port == port
    return server


def _ahead(hours: int) -> list[str]:
    """The product, in a process whose wall clock is wrong."""
    code = (
        "import sys, time; seconds, ns = time.time, time.time_ns; "
        f"time.time = lambda: seconds() + {hours * 3600}; "
        f"time.time_ns = lambda: ns() + {hours * 3600} * 10**9; "
        "from claude_mem.cli import main; sys.exit(main())"
    )
    return [sys.executable, "-c", code]


def _break_and_heal(load: Load, proxy: FaultProxy) -> None:
    with load.running() as pushed:
        for fault in (proxy.cut, proxy.fall_silent, proxy.slow_down, proxy.cut):
            pushed.wait_for(EACH)
            made = proxy.connections
            fault()
            if fault == proxy.slow_down:
                pushed.wait_for(EACH // 3)
            else:
                proxy.wait_for_connections(made + 4)
            proxy.heal()
        pushed.wait_for(EACH)
    assert pushed.failures, "no push met a fault"


def _database(postgres: PostgresServer, more: str = "") -> str:
    with psycopg.connect(postgres.url(), autocommit=True) as db:
        db.execute(f"CREATE DATABASE team {more}".encode())
    return postgres.url("team")
