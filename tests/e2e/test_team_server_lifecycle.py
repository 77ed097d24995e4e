"""Processes of a team server come and go: started, stopped, upgraded one after the other, and killed."""

from __future__ import annotations

import http.client
import itertools
import signal
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from typing import Any

import psycopg
import pytest
from tests.harness import team_servers
from tests.harness.postgres import new_database
from tests.harness.team_servers import Caller, ServerProcess, session_records
from tests.harness.workers import PATIENCE_S, free_port, until

SHOP = "git.example/acme/shop"


class Team:
    """A database with an admin."""

    def __init__(self) -> None:
        self.url = new_database()
        self.key = team_servers.new_team(self.url)["ada"]

    def caller(self, server: ServerProcess) -> Caller:
        return Caller(server.port, self.key)

    def count(self, table: str) -> int:
        with psycopg.connect(self.url) as db:
            found = db.execute(f"SELECT COUNT(*) FROM claude_mem.{table}").fetchone()
            assert found is not None
            return int(found[0])


@pytest.fixture
def team() -> Team:
    return Team()


def test_a_process_that_is_told_to_stop_finishes_what_it_is_answering(team: Team) -> None:
    """The request has begun before it is told: its body comes only afterwards."""
    with team_servers.running(team.url, "--drain", "0") as server:
        connection = team.caller(server).connect()
        connection.putrequest("POST", "/api/team/push")
        body = b'{"kind": "project", "key": "k", "name": "n"}\n'
        connection.putheader("Authorization", f"Bearer {team.key}")
        connection.putheader("Content-Type", team_servers.LINES)
        connection.putheader("Content-Length", str(len(body)))
        connection.endheaders()
        until(lambda: _is_running(team, server), "the request has begun")
        server.process.send_signal(signal.SIGTERM)
        server.waited_for("stopping")
        connection.send(body)
        response = connection.getresponse()
        assert response.status == 200
        assert response.getheader("connection") == "close"
        connection.close()
        assert server.process.wait(PATIENCE_S) == 0
    assert team.count("projects") == 1


def _is_running(team: Team, server: ServerProcess) -> bool:
    text = team.caller(server).ask("GET", "/metrics").raw.decode()
    return "claude_mem_server_requests_running 2\n" in text


def test_health_says_that_it_stops_before_it_does_and_needs_no_key(team: Team) -> None:
    with team_servers.running(team.url, "--drain", "30") as server:
        nobody = Caller(server.port)
        assert nobody.ask("GET", "/health").json == {"status": "ok"}
        server.process.send_signal(signal.SIGTERM)
        server.waited_for("stopping")
        draining = nobody.ask("GET", "/health")
        assert (draining.status, draining.json) == (503, {"status": "stopping"})
        assert draining.headers["connection"] == "close"
        assert team.caller(server).ask("GET", "/api/team").status == 200
        assert server.stop() == 0  # a second signal ends the wait


def test_a_stream_does_not_hold_up_the_end(team: Team) -> None:
    with team_servers.running(team.url) as server:
        connection = team.caller(server).connect()
        connection.request("GET", "/stream", headers={"Authorization": f"Bearer {team.key}"})
        response = connection.getresponse()
        response.readline()
        assert server.stop() == 0
        response.read()  # to its end
        connection.close()


def test_when_the_database_goes_away_health_says_so_and_it_is_back_by_itself(team: Team) -> None:
    """Its connections are cut, and no new ones are let in, as when PostgreSQL restarts."""
    name = team.url.partition("?")[0].rpartition("/")[2]
    admin = team.url.replace(f"/{name}", "/postgres", 1)
    with team_servers.running(team.url) as server, psycopg.connect(admin, autocommit=True) as db:
        nobody, ada = Caller(server.port), team.caller(server)
        assert ada.ask("GET", "/api/projects").status == 200
        db.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        db.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        until(lambda: nobody.ask("GET", "/health").json == {"status": "unavailable"}, "health says so")
        refused = ada.ask("GET", "/api/projects")
        assert refused.status == 503
        assert "retry-after" in refused.headers
        assert name.encode() not in refused.raw
        db.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
        until(lambda: nobody.ask("GET", "/health").status == 200, "it is back")
        assert ada.ask("GET", "/api/projects").status == 200
        ada.post("/api/team/push", session_records("after", SHOP, "the egret is back"))
        until(lambda: bool(ada.get("/api/search", q="egret")["results"]), "it is indexed again")


def test_a_request_that_never_comes_to_its_end_does_not_hold_up_the_end(team: Team) -> None:
    with team_servers.running(team.url, "--drain", "0") as server:
        connection = team.caller(server).connect()
        connection.putrequest("POST", "/api/team/push")
        connection.putheader("Authorization", f"Bearer {team.key}")
        connection.putheader("Content-Length", "100")
        connection.endheaders()
        until(lambda: _is_running(team, server), "the request has begun")
        assert server.stop() == 0
        assert connection.getresponse().status == 503  # not 408: its time was not over
        connection.close()


def test_when_the_database_does_not_answer_health_says_so_and_it_is_back_by_itself(team: Team) -> None:
    with team_servers.running(team.url) as server, psycopg.connect(team.url) as db:
        nobody = Caller(server.port)
        assert nobody.ask("GET", "/health").status == 200
        db.execute("LOCK TABLE claude_mem.schema_version IN ACCESS EXCLUSIVE MODE")
        until(lambda: nobody.ask("GET", "/health").json == {"status": "unavailable"}, "health says so")
        db.rollback()
        until(lambda: nobody.ask("GET", "/health").status == 200, "it is back")


def test_once_a_newer_version_has_migrated_a_process_reads_on_and_takes_itself_out_of_the_balance(
    team: Team,
) -> None:
    with team_servers.running(team.url) as server:
        nobody, ada = Caller(server.port), team.caller(server)
        with psycopg.connect(team.url) as db:
            db.execute("UPDATE claude_mem.schema_version SET version = version + 1")
        refused = ada.ask("POST", "/api/team/push", session_records("s", SHOP, "too late"))
        assert refused.status == 503
        assert "retry-after" in refused.headers
        assert ada.ask("GET", "/api/projects").status == 200
        until(lambda: nobody.ask("GET", "/health").json == {"status": "unavailable"}, "health says so")
        assert server.process.poll() is None


def test_a_hangup_does_not_end_a_process_without_a_certificate(team: Team) -> None:
    with team_servers.running(team.url, "--drain", "0") as server:
        server.waited_for("listening")
        server.process.send_signal(signal.SIGHUP)
        assert Caller(server.port).ask("GET", "/health").status == 200
        assert server.stop() == 0


def test_what_one_process_takes_in_another_answers_and_streams(team: Team) -> None:
    with team_servers.running(team.url) as one, team_servers.running(team.url) as other:
        connection = team.caller(other).connect()
        connection.request("GET", "/stream", headers={"Authorization": f"Bearer {team.key}"})
        response = connection.getresponse()
        team.caller(one).post("/api/team/push", session_records("s", SHOP, "the shared heron"))
        assert any(b"the shared heron" in line for line in iter(response.readline, b""))
        connection.close()
        until(lambda: bool(team.caller(other).get("/api/search", q="heron")["results"]), "it is found")


def test_two_processes_index_each_memory_once(team: Team) -> None:
    with team_servers.running(team.url) as one, team_servers.running(team.url) as other:
        for number in range(8):
            titles = [f"heron {number} {title}" for title in range(20)]
            caller = team.caller((one, other)[number % 2])
            caller.post("/api/team/push", session_records(f"s{number}", SHOP, *titles))
        until(lambda: team.count("unindexed") == 0, "all is indexed")
        assert team.count("memory_documents") == 8 * 21
        with psycopg.connect(team.url) as db:
            totals = db.execute("SELECT SUM(documents) FROM claude_mem.text_totals WHERE project_id > 0")
            assert totals.fetchone() == (8 * 21,)


@pytest.mark.prove
def test_vectors_are_made_by_one_process_and_by_another_when_that_is_gone(team: Team) -> None:
    with ExitStack() as stack:
        servers = [
            stack.enter_context(team_servers.running(team.url, CLAUDE_MEM_VECTORS="builtin"))
            for _ in range(2)
        ]
        team.caller(servers[0]).post("/api/team/push", session_records("s1", SHOP, "the heron"))
        until(lambda: team.count("memory_vectors") == 2, "there are vectors")
        for gone, left in ((servers[0], servers[1]),):
            gone.process.kill()
            gone.process.wait()
            team.caller(left).post("/api/team/push", session_records("s2", SHOP, "the egret"))
        until(lambda: team.count("memory_vectors") == 4, "there are vectors again")


class Balancer:
    """Sends each request to the next process that is ready, as its last look at /health has found."""

    def __init__(self, ports: list[int], keys: list[str]) -> None:
        """`keys`: of those who send."""
        self.ports = ports
        self.ready: list[int] = list(ports)
        self.failed: list[object] = []
        self.answered = 0
        self.by_port: Counter[int] = Counter()
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._look)]
        self._threads += [threading.Thread(target=self._send, args=each) for each in enumerate(keys)]

    def __enter__(self) -> Balancer:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def wait_until_used(self, port: int) -> None:
        """Once more than by now."""
        before = self.by_port[port]
        until(lambda: self.by_port[port] > before, "it is used")

    def _look(self) -> None:
        while not self._over.wait(0.05):
            self.ready = [port for port in self.ports if self._is_ready(port)]

    def _is_ready(self, port: int) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return Caller(port).ask("GET", "/health").status == 200
        return False

    def _send(self, number: int, key: str) -> None:
        connections: dict[int, http.client.HTTPConnection] = {}
        for turn in itertools.count():
            if self._over.is_set():
                break
            if not (ready := self.ready):
                time.sleep(0.01)
                continue
            for gone in connections.keys() - set(ready):
                connections.pop(gone).close()
            port = ready[turn % len(ready)]
            connection = connections.pop(port, None) or Caller(port).connect()
            try:
                body = b'{"kind": "project", "key": "k%d", "name": "n"}\n' % (number * 1_000_000 + turn)
                headers = {"Authorization": f"Bearer {key}", "Content-Type": team_servers.LINES}
                connection.request("POST", "/api/team/push", body, headers)
                response = connection.getresponse()
                raw = response.read()
                if response.status != 200:
                    self.failed.append((response.status, raw))
                if response.getheader("connection") != "close":
                    connections[port] = connection
                else:
                    connection.close()
                self.answered += 1
                self.by_port[port] += 1
            except (OSError, http.client.HTTPException) as error:
                self.failed.append(error)
            time.sleep(0.03)  # below what one key may ask
        for connection in connections.values():
            connection.close()


@pytest.mark.prove
def test_two_processes_are_replaced_one_after_the_other_and_no_request_fails(team: Team) -> None:
    ports = [free_port(), free_port()]
    keys = [team_servers.new_key(team.url, "ada", f"machine {number}")[0] for number in range(4)]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(team_servers.running(team.url, "--drain", "1", port=port)) for port in ports
        ]
        for server in servers:
            server.waited_for("listening")
        with Balancer(ports, keys) as balancer:
            for place, port in enumerate(ports):
                balancer.wait_until_used(port)
                assert servers[place].stop() == 0
                servers[place] = stack.enter_context(
                    team_servers.running(team.url, "--drain", "1", port=port)
                )
                balancer.wait_until_used(port)
        assert balancer.failed == []
        assert team.count("projects") == balancer.answered


def test_processes_share_a_port(team: Team) -> None:
    with team_servers.running(team.url) as one, team_servers.running(team.url, port=one.port) as other:
        other.waited_for("listening")
        for _ in range(40):
            assert Caller(one.port).ask("GET", "/health").status == 200


def pushed(records: list[dict[str, Any]], caller: Caller) -> bool:
    """Whether it was answered."""
    with suppress(OSError, http.client.HTTPException):
        return caller.ask("POST", "/api/team/push", records).status == 200
    return False


@pytest.mark.parametrize(
    "kills", [pytest.param(2, marks=pytest.mark.short), pytest.param(12, marks=pytest.mark.prove)]
)
def test_a_process_that_is_killed_amid_pushes_loses_nothing_and_doubles_nothing(
    team: Team, kills: int
) -> None:
    """Machines send again what was not answered, to whichever process there is."""
    other = team_servers.running(team.url)
    with other as survivor:
        survivor.waited_for("listening")
        sent: list[str] = []
        for kill in range(kills):
            with team_servers.running(team.url) as victim:
                callers = [team.caller(victim), team.caller(survivor)]
                killer = threading.Timer(0.05 + 0.03 * kill, victim.process.kill)
                victim.waited_for("listening")
                killer.start()
                for number in range(12):
                    session = f"kill {kill} session {number}"
                    records = session_records(
                        session, SHOP, *(f"{session} title {each}" for each in range(25))
                    )
                    sent.append(session)
                    assert pushed(records, callers[0]) or pushed(records, callers[1])
                killer.join()
        for table, of_each in (("sdk_sessions", 1), ("observations", 25), ("session_summaries", 1)):
            assert team.count(table) == of_each * len(sent)
        until(lambda: team.count("unindexed") == 0, "all is indexed")
        assert team.count("memory_documents") == 26 * len(sent)
        titles = {f"{session} title {each}" for session in sent for each in range(25)}
        pulled = set()
        key, _ = team_servers.new_key(team.url, "ada", "another")
        cursor, more = "", True
        while more:
            *lines, end = Caller(survivor.port, key).ask("GET", "/api/team/pull", cursor=cursor).lines
            pulled |= {line["title"] for line in lines if line["kind"] == "observation"}
            cursor, more = end["cursor"], end["more"]
        assert pulled == titles
