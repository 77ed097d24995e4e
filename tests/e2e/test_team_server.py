"""A team server as its callers see it: what is shared is found, streamed, saved and forgotten by who may."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from tests.harness import team_servers
from tests.harness.postgres import new_database
from tests.harness.team_servers import Caller, Reply, session_records
from tests.harness.workers import until

from claude_mem.serve.http.guard import MOST_BYTES
from claude_mem.team.outgoing import unique_session

SHOP, DEN = "git.example/acme/shop", "git.example/acme/den"


class Team:
    def __init__(self, url: str, port: int, keys: dict[str, str]) -> None:
        self.url, self.port = url, port
        self.ada, self.ben = Caller(port, keys["ada"]), Caller(port, keys["ben"])

    def share(
        self, caller: Caller, session: str, project: str, *titles: str, words: str = ""
    ) -> dict[str, Any]:
        found: dict[str, Any] = caller.post(
            "/api/team/push", session_records(session, project, *titles, words=words)
        )
        return found

    def found(self, caller: Caller, words: str) -> list[str]:
        return [each["title"] for each in caller.get("/api/search", q=words)["results"]]


@pytest.fixture(scope="module")
def team() -> Iterator[Team]:
    url = new_database()
    keys = team_servers.new_team(url, "ben")
    with team_servers.running(url) as server:
        team = Team(url, server.port, keys)
        team.share(team.ada, "begin", SHOP, "the beginning")
        team_servers.grant(url, SHOP, "ben", "write")
        yield team


@contextmanager
def listening(caller: Caller, since: str = "") -> Iterator[Iterator[dict[str, Any]]]:
    """The events of the stream, as they come, after the first."""
    connection = caller.connect()
    headers = {"Authorization": f"Bearer {caller.key}"} | ({"Last-Event-ID": since} if since else {})
    connection.request("GET", "/stream", headers=headers)
    response = connection.getresponse()
    assert response.status == 200
    events = read_events(response)
    assert next(events)["type"] == "initial"
    try:
        yield events
    finally:
        connection.close()


def read_events(response: http.client.HTTPResponse) -> Iterator[dict[str, Any]]:
    id = ""
    for raw in response:
        line = raw.decode().rstrip("\n")
        if line.startswith("id: "):
            id = line[4:]
        elif line.startswith("data: "):
            yield json.loads(line[6:]) | {"id": id}


def call_tool(caller: Caller, tool: str, **arguments: Any) -> Any:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    return caller.post("/mcp", call)["result"]


def test_what_one_shares_another_finds_with_its_author_and_pulls(team: Team) -> None:
    team.share(team.ada, "finds", SHOP, "the bittern sings at dawn")
    until(lambda: team.found(team.ben, "bittern") == ["the bittern sings at dawn"], "it is found")
    lines = team.ben.ask("GET", "/api/team/pull").lines
    assert lines[-1]["kind"] == "cursor"
    pulled = [line for line in lines if line.get("title") == "the bittern sings at dawn"]
    assert [line["author"] for line in pulled] == ["ada"]


def test_a_member_asks_for_ones_own_or_for_anothers(team: Team) -> None:
    team.share(team.ada, "mine", SHOP, "the curlew of ada")
    team.share(team.ben, "bens", SHOP, "the curlew of ben")
    until(lambda: len(team.found(team.ben, "curlew")) == 2, "both are found")
    for author, found in (("me", "ben"), ("ben", "ben"), ("ada", "ada")):
        results = team.ben.get("/api/search", q="curlew", author=author)["results"]
        assert {(each["title"], each["author"]) for each in results} == {(f"the curlew of {found}", found)}
    assert team.ben.ask("GET", "/api/search", author="eve").status == 400


def test_a_search_can_be_narrowed_to_a_member_or_to_oneself(team: Team) -> None:
    team.share(team.ada, "narrowed 1", SHOP, "avocet seen by ada")
    team.share(team.ben, "narrowed 2", SHOP, "avocet seen by ben")
    until(lambda: len(team.found(team.ada, "avocet")) == 2, "both are found")

    def by(caller: Caller, author: str) -> list[str]:
        found = caller.get("/api/search", q="avocet", author=author)["results"]
        return [f"{each['author']}: {each['title']}" for each in found]

    assert by(team.ada, "me") == by(team.ben, "ada") == ["ada: avocet seen by ada"]
    assert by(team.ben, "me") == by(team.ada, "ben") == ["ben: avocet seen by ben"]


def test_doing_it_twice_changes_nothing(team: Team) -> None:
    assert team.share(team.ada, "twice", SHOP, "one", "two")["taken"]["observation"] == 2
    again = team.share(team.ada, "twice", SHOP, "one", "two")
    assert again["taken"] == {}
    assert again["known"]["observation"] == 2


def test_a_line_that_cannot_be_read_is_named_and_the_others_are_taken(team: Team) -> None:
    records = session_records("lines", SHOP, "kept")
    lines = [json.dumps(each).encode() for each in records]
    body = b"\n".join([*lines[:2], b"{not json", *lines[2:]])
    reply = team.ada.ask("POST", "/api/team/push", body, headers={"Content-Type": team_servers.LINES})
    assert reply.json["taken"]["observation"] == 1
    assert [number for number, _ in reply.json["refused"]] == [2]


def test_a_push_that_is_not_lines_or_too_large_is_refused(team: Team) -> None:
    assert team.ada.ask("POST", "/api/team/push", {"kind": "project"}).status == 415
    assert team.ada.ask("POST", "/api/team/push", b"x" * (MOST_BYTES + 1)).status == 413
    many = [{"kind": "project", "key": str(number), "name": "x"} for number in range(1_002)]
    assert team.ada.ask("POST", "/api/team/push", many).status == 400


def test_a_session_whose_name_anybody_can_compute_is_its_machines_alone(team: Team) -> None:
    adas, bens = (unique_session("user-0123456789ab", f"{name}/laptop") for name in ("ada", "ben"))
    assert team.ada.get("/api/team")["machine"] == team.ben.get("/api/team")["machine"] == "laptop"
    over_mcp = f"team-mcp-{'0' * 24}"
    for session in (adas, over_mcp):
        answer = team.ben.post("/api/team/push", session_records(session, SHOP, "taken away"))
        assert [index for index, _ in answer["refused"]] == [1, 2, 3]
    for caller, session in ((team.ada, adas), (team.ben, bens)):
        assert caller.post("/api/team/push", session_records(session, SHOP, "mine"))["refused"] == []


def test_no_record_is_taken_that_would_hold_up_the_pulls_of_others(team: Team) -> None:
    """A machine reads at most so much of an answer, and asks for the same page until it can."""
    records = session_records("hulk", SHOP, "the hulk")
    records[2]["facts"] = ["船" * 2_000] * 200
    records[2]["concepts"] = ["港" * 2_000] * 200
    records[2]["files_read"] = ["海" * 2_000] * 200
    answer = team.ada.post("/api/team/push", records)
    assert [index for index, _ in answer["refused"]] == [2]
    assert "the hulk" not in team.found(team.ben, "hulk")


@pytest.mark.parametrize("secret", ["ghp_0123456789abcdefghijABCDEFGHIJ012345", "<private>diary</private>"])
def test_what_arrives_is_scrubbed_once_more(team: Team, secret: str) -> None:
    records = session_records(f"scrub {len(secret)}", SHOP, "scrubbed", words=f"x {secret} y")
    records[2]["facts"] = [f"a fact {secret}"]
    assert team.ada.post("/api/team/push", records)["taken"]["observation"] == 1
    with psycopg.connect(team.url) as db:
        held = repr(db.execute("SELECT o::text FROM claude_mem.observations AS o").fetchall())
        held += repr(db.execute("SELECT s::text FROM claude_mem.session_summaries AS s").fetchall())
    assert "a fact" in held
    assert secret not in held
    assert "diary" not in held


def test_the_stream_sends_a_member_what_is_new_in_the_members_projects_and_nothing_else(team: Team) -> None:
    with listening(team.ben) as events:
        team.share(team.ada, "hidden", DEN, "the fox is in the den")
        team.share(team.ada, "seen", SHOP, "the shop is open")
        sent = [next(events)]  # while another transaction is open, what was before may come again
        while (sent[-1].get("summary") or {}).get("session_id") != "seen":
            sent.append(next(events))
        new = [event["type"] for event in sent if "the shop is open" in json.dumps(event)]
        assert new[:1] == ["new_observation"]
        assert "the fox is in the den" not in json.dumps(sent)


def test_a_listener_that_comes_back_misses_nothing(team: Team) -> None:
    with listening(team.ben) as events:
        team.share(team.ada, "back 1", SHOP, "before it went")
        last = [next(events), next(events)][-1]["id"]
    team.share(team.ada, "back 2", SHOP, "while it was gone")
    with listening(team.ben, since=last) as events:
        titles = []
        while "while it was gone" not in titles:
            titles.append(next(events).get("observation", {}).get("title"))


def test_a_stream_ends_when_its_key_is_revoked(team: Team) -> None:
    key, id = team_servers.new_key(team.url, "ben", "tablet", scopes=("read",))
    with listening(Caller(team.port, key)) as events:
        with team_servers.opened(team.url) as store:
            store.directory.revoke_key(id)
        assert list(events) == []


def test_a_memory_that_is_saved_over_mcp_is_the_members_and_is_forgotten_again(team: Team) -> None:
    saved = call_tool(team.ben, "remember", text="The kingfisher dives at noon.", project="shop")
    assert not saved.get("isError"), saved
    until(lambda: bool(team.found(team.ada, "kingfisher")), "it is found")
    ref = saved["structuredContent"]["ref"]
    shown = call_tool(team.ben, "forget", ids=[ref])["structuredContent"]
    assert (shown["dry_run"], shown["observations"]) == (True, 1)
    assert team.found(team.ada, "kingfisher")
    gone = call_tool(team.ben, "forget", ids=[ref], confirm=shown["confirm"])["structuredContent"]
    assert gone["observations"] == 1
    assert team.found(team.ada, "kingfisher") == []
    assert [each["by"] for each in team.ada.get("/api/team/forgets")["items"]][:1] == ["ben"]


def test_nothing_is_saved_over_mcp_where_the_member_only_reads(team: Team) -> None:
    team.share(team.ada, "reads", "git.example/acme/lib", "a library")
    team_servers.grant(team.url, "git.example/acme/lib", "ben", "read")
    refused = call_tool(team.ben, "remember", text="Not mine to say.", project="lib")
    assert refused["isError"]


def test_forgetting_travels_and_names_the_machines_that_have_not_heard(team: Team) -> None:
    team.share(team.ada, "travels", SHOP, "to be forgotten")
    lines = team.ben.ask("GET", "/api/team/pull", limit=2_000).lines
    assert any(line.get("title") == "to be forgotten" for line in lines)
    name = next(
        f"{line['session_id']}/{line['at']}/summary"
        for line in lines
        if line["kind"] == "summary" and line["session_id"] == "travels"
    )
    ids = team.ada.post("/api/team/forget", {"names": [name, "no/1/summary"]})["ids"]
    assert ids[0]
    assert ids[1] == ""
    status = {each["id"]: each for each in team.ada.get("/api/team/forgets")["items"]}
    assert status[ids[0]]["waiting_for"] == ["ben/laptop"]
    after = team.ben.ask("GET", "/api/team/pull", cursor=lines[-1]["cursor"]).lines
    assert ids[0] in [line["id"] for line in after if line["kind"] == "forget"]
    team.ben.post("/api/team/acknowledge", {"ids": [ids[0]]})
    status = {each["id"]: each for each in team.ada.get("/api/team/forgets")["items"]}
    assert status[ids[0]]["waiting_for"] == []


def test_leaving_takes_back_what_was_shared_and_ends_the_key(team: Team) -> None:
    with team_servers.opened(team.url) as store:
        from claude_mem.api.team import NewKey, NewMember

        store.directory.add_member(NewMember(name="cat"))
        key, _ = store.directory.add_key(NewKey(member="cat", machine="laptop"))
    cat = Caller(team.port, key)
    team_servers.grant(team.url, SHOP, "cat", "write")
    team.share(cat, "of cat", SHOP, "the cat was here")
    until(lambda: bool(team.found(team.ben, "the cat was here")), "it is found")
    assert cat.post("/api/team/leave", {}) == {"sessions": 1}
    assert "the cat was here" not in team.found(team.ben, "the cat was here")
    assert cat.ask("GET", "/api/team").status == 401


def test_an_admin_manages_members_keys_and_projects_over_http_and_it_is_noted(team: Team) -> None:
    ada = team.ada
    assert ada.post("/api/team/members", {"name": "dan"})["name"] == "dan"
    made = ada.post("/api/team/keys", {"member": "dan", "machine": "desk", "scopes": ["read"], "days": 7})
    dan = Caller(team.port, made["key"])
    assert dan.get("/api/team")["member"] == "dan"
    assert dan.get("/api/projects")["items"] == []
    ada.post("/api/team/projects", {"project": SHOP, "member": "dan", "level": "read"})
    assert [each["name"] for each in dan.get("/api/projects")["items"]] == ["shop"]
    assert [each["id"] for each in dan.get("/api/team/keys")["items"]] == [made["info"]["id"]]
    ada.post("/api/team/projects", {"project": SHOP, "member": "dan", "level": "none"})
    assert dan.get("/api/projects")["items"] == []
    ada.post("/api/team/keys/revoke", {"id": made["info"]["id"]})
    assert dan.ask("GET", "/api/team").status == 401
    ada.post("/api/team/members/remove", {"id": "dan"})
    assert "dan" not in [each["name"] for each in ada.get("/api/team/members")["items"]]
    entries = ada.get("/api/team/audit")["items"]
    noted = [
        entry["action"] for entry in entries if "dan" in entry["subject"] or entry["action"] == "key.revoke"
    ]
    assert {"member.add", "key.add", "key.revoke", "member.remove"} <= set(noted)
    assert {entry["member"] for entry in entries if "dan" in entry["subject"]} == {"ada"}


def test_too_many_requests_of_one_key_are_put_off_and_another_keys_are_not(team: Team) -> None:
    key, _ = team_servers.new_key(team.url, "ben", "busy", scopes=("read",))
    connection = Caller(team.port, key).connect()
    statuses: list[Reply] = []
    for _ in range(400):
        connection.request("GET", "/api/none", headers={"Authorization": f"Bearer {key}"})
        response = connection.getresponse()
        headers = {name.lower(): value for name, value in response.getheaders()}
        statuses.append(Reply(response.status, headers, response.read()))
        if response.status == 429:
            break
    connection.close()
    assert statuses[-1].status == 429
    assert int(statuses[-1].headers["retry-after"]) >= 1
    assert {reply.status for reply in statuses[:-1]} == {404}
    assert team.ben.ask("GET", "/api/team").status == 200


def test_metrics_are_an_admins_and_name_nobody(team: Team) -> None:
    text = team.ada.ask("GET", "/metrics").raw.decode()
    assert 'claude_mem_server_requests_total{route="/api/team/push",status="200"}' in text
    assert "claude_mem_server_pgvector{state=" in text
    for word in ("ada", "ben", "shop"):
        assert word not in text
    assert team.ben.ask("GET", "/metrics").status == 403


def test_the_document_describes_every_route(team: Team) -> None:
    from claude_mem.serve.team_server.server_table import TABLE

    paths = team.ben.get("/openapi.json")["paths"]
    described = {(method.upper(), path) for path, found in paths.items() for method in found}
    assert described == {(each.method, each.path) for each in TABLE}
