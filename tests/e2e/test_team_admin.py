"""`claude-mem team member|key|project|audit`, and the routes of the worker behind them, on a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.contracts.worker_client import Worker
from tests.harness import team_servers, workers
from tests.harness.commands import Mem
from tests.harness.postgres import new_database
from tests.harness.team_servers import Caller, session_records

pytestmark = pytest.mark.prove

SHOP = "git.example/acme/shop"


@dataclass
class Machines:
    ada: Mem
    ben: Mem
    port: int
    keys: dict[str, str]


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machines]:
    url, folder = new_database(), tmp_path_factory.mktemp("machines")
    keys = team_servers.new_team(url, "ben")
    with team_servers.running(url) as server:
        Caller(server.port, keys["ada"]).post("/api/team/push", session_records("adas", SHOP, "A heron"))
        with workers.running(folder / "ada"), workers.running(folder / "ben"):
            made = Machines(Mem(folder / "ada"), Mem(folder / "ben"), server.port, keys)
            for name, mem in (("ada", made.ada), ("ben", made.ben)):
                mem("join", f"http://127.0.0.1:{server.port}", given=keys[name].encode())
            yield made


def test_an_admin_adds_a_member_a_key_and_access_and_takes_them_back(machines: Machines) -> None:
    ada = machines.ada
    ada("team", "member", "add", "carl")
    made = json.loads(ada("team", "key", "add", "carl", "desktop", "--json").stdout)
    carl = Caller(machines.port, made["key"])
    assert (carl.get("/api/team")["member"], made["info"]["machine"]) == ("carl", "desktop")
    ada("team", "project", "grant", SHOP, "carl", "read")
    assert [each["level"] for each in carl.get("/api/team")["projects"]] == ["read"]
    for what, said in (("member", "carl"), ("key", "desktop"), ("project", SHOP), ("audit", "key.add")):
        text = ada("team", *([what] if what == "audit" else [what, "list"])).stdout
        assert said in text
        assert made["key"] not in text
    ada("team", "project", "revoke", SHOP, "carl")
    assert carl.get("/api/team")["projects"] == []
    ada("team", "key", "revoke", made["info"]["id"])
    assert carl.ask("GET", "/api/team").status == 401
    ada("team", "member", "remove", "carl")
    items = json.loads(ada("team", "member", "list", "--json").stdout)["items"]
    assert [each["name"] for each in items] == ["ada", "ben"]


def test_what_the_server_refuses_is_said_in_a_sentence_and_changes_nothing(machines: Machines) -> None:
    ada, ben = machines.ada, machines.ben
    for words, named in (
        (("member", "add", "ben"), "ben"),
        (("member", "add", "me"), "me"),
        (("member", "remove", "eve"), "eve"),
        (("member", "remove", "ada"), "ada"),
        (("key", "add", "eve", "laptop"), "eve"),
        (("key", "revoke", "k99"), "k99"),
        (("project", "grant", "no/such", "ben", "read"), "no/such"),
    ):
        done = ada("team", *words, code=None)
        assert done.returncode in (1, 2)
        assert named in done.stderr
        assert done.stdout == ""
    worker = Worker(ada.data_dir)
    assert worker.refused("POST", "/api/team/members", {"name": "me"}) == (400, "bad_field", "name")
    assert ben("team", "member", "list", code=1).stderr
    assert Worker(ben.data_dir).refused("GET", "/api/team/members")[0] == 403
    assert ben("team", "key", "add", "ben", "other", code=1).stderr
    assert len(json.loads(ada("team", "key", "list", "--json").stdout)["items"]) >= 2


def test_a_projects_admin_forgets_anothers_memory_for_the_team_and_nobody_else(
    machines: Machines,
) -> None:
    ada, ben = machines.ada, machines.ben
    bens = Caller(machines.port, machines.keys["ben"])
    ada("team", "project", "grant", SHOP, "ben", "write")
    bens.post("/api/team/push", session_records("bens", SHOP, "The grebe dives", "The grebe nests"))
    for mem in (ada, ben):
        mem("team", "--sync")

    def ref(mem: Mem, query: str) -> str:
        results = json.loads(mem("search", query, "--kind", "observation", "--json").stdout)["items"]
        return next(iter(each["ref"] for each in results), "")

    def on_server(query: str) -> int:
        results = bens.get("/api/search", q=query, kind="observation")["results"]
        return sum(query in each["title"] for each in results)

    done = ada("forget", ref(ada, "grebe dives"), "--yes")
    assert "--for-team" in done.stderr
    assert on_server("The grebe dives") == 1
    ada("forget", ref(ada, "grebe nests"), "--for-team", "--yes")
    assert on_server("The grebe nests") == 0

    heron = ref(ben, "heron")
    refused = ben("forget", heron, "--for-team", "--yes", code=None)
    assert refused.returncode != 0
    assert "author" in refused.stderr
    assert ref(ben, "heron") == heron
    assert on_server("A heron") == 1


def test_an_agent_on_the_machine_never_sees_its_key(machines: Machines) -> None:
    """What the worker's routes answer, and its log."""
    worker = Worker(machines.ada.data_dir)
    paths = ("/api/team", "/api/team/members", "/api/team/keys", "/api/team/projects", "/api/sharing")
    said = [json.dumps(worker.get(path)) for path in paths]
    said += [each.read_text(errors="replace") for each in machines.ada.data_dir.rglob("*.log*")]
    assert "ada" in said[0]
    assert not any(key in each for key in machines.keys.values() for each in said)


def test_a_machine_that_has_joined_no_team_is_told_so(tmp_path: Path) -> None:
    with workers.running(tmp_path / "data"):
        done = Mem(tmp_path / "data")("team", "member", "list", code=1)
        assert "joined" in done.stderr
        assert Worker(tmp_path / "data").refused("GET", "/api/team")[:2] == (409, "no_team")
        assert Mem(tmp_path / "data").json("team", code=0)["joined"] is False
        assert Mem(tmp_path / "data").json("team", "--sync", code=1)["joined"] is False
