"""The worker's side of MCP: one message in, one answer out."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import structs
from starlette.types import Message
from tests.unit.serve import faulty_worker
from tests.unit.serve.memory_stub import EVIL, MemoryStub

from claude_mem.api.filters import FilterRequest, Page, filter_infos
from claude_mem.model.structs import replace
from claude_mem.recall.fence import TAG
from claude_mem.serve import mcp_tools
from claude_mem.serve.http import guard
from claude_mem.serve.http.app import worker_app
from claude_mem.serve.http.guard import Guard, Key
from claude_mem.serve.services import Running, Services

DISARMED = EVIL.replace("<", "‹")
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "claude-code", "version": "3"},
}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
METHODS = ("initialize", "tools/list", "tools/call", "server/discover", "ping", "notifications/cancelled")
ARGUMENTS = sorted(
    {each.encode_name for tool in mcp_tools.TOOLS.values() for each in structs.fields(tool.arguments)}
)


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def text(self) -> str:
        (only,) = self.json["result"]["content"]
        return str(only["text"])


class Worker:
    def __init__(self, services: Services) -> None:
        self.desk = MemoryStub()
        desk: Any = self.desk
        recall = replace(services.recall, memory=desk, writer=desk, deleter=desk)
        self.running = Running(replace(services, recall=recall))

    def post(self, said: object, key: Key | None = None, **headers: str) -> Answer:
        """As it arrives over worker.sock; with a key, over TCP."""
        answer = Answer()
        body = json.dumps(said).encode()

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer.status = int(message["status"])
                answer.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            answer.raw += message.get("body", b"")

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/mcp",
            "query_string": b"",
            "headers": [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()],
        }
        asyncio.run(Guard(worker_app(self.running), self.running, key)(scope, receive, send))
        return answer

    def call(self, tool: str, arguments: dict[str, object], **headers: str) -> Answer:
        params = {"name": tool, "arguments": arguments}
        return self.post(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, None, **headers
        )

    def found(self, tool: str, **arguments: object) -> Any:
        return self.call(tool, arguments).json["result"]["structuredContent"]

    def told(self, tool: str, **arguments: object) -> str:
        return self.call(tool, arguments).text


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    with faulty_worker.built(tmp_path) as services:
        yield Worker(services)


def hello(client: str = "test") -> dict[str, object]:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": client, "version": "1"},
    }
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


class TestProtocol:
    def test_a_client_that_says_hello_is_told_who_we_are_and_how_to_ask(self, worker: Worker) -> None:
        answer = worker.post(hello())
        result = answer.json["result"]
        assert result["serverInfo"]["name"] == "claude-mem"
        assert result["capabilities"] == {"tools": {"listChanged": False}}
        for step in ("1. search", "2. timeline", "3. get_observations"):
            assert step in result["instructions"]
        assert answer.headers["mcp-session-id"] == "2025-11-25.test"

    def test_a_notification_is_not_answered_even_when_it_is_wrong(self, worker: Worker) -> None:
        for params in ({}, {"protocolVersion": 5}, {"_meta": {next(iter(MODERN)): "1999-01-01"}}):
            said = {"jsonrpc": "2.0", "method": "notifications/initialized", "params": params}
            answer = worker.post(said)
            assert (answer.status, answer.raw) == (202, b"")

    def test_a_message_of_the_newest_protocol_needs_no_hello_and_no_headers(self, worker: Worker) -> None:
        params = {"name": "search", "arguments": {"query": "cookie"}, "_meta": MODERN}
        answer = worker.post({"jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": params})
        assert answer.json["id"] == "x"
        assert "#1 bugfix" in answer.text
        discovered = worker.post(
            {"jsonrpc": "2.0", "id": 2, "method": "server/discover", "params": {"_meta": MODERN}}
        )
        assert "2026-07-28" in discovered.json["result"]["supportedVersions"]

    @pytest.mark.parametrize(
        "said",
        [
            {"jsonrpc": "2.0", "id": 7},
            {"jsonrpc": "1.0", "id": 7, "method": "ping"},
            {"jsonrpc": "2.0", "id": 7, "method": "no/such"},
            {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "no_such"}},
            {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": []},
        ],
    )
    def test_an_error_says_whose_it_is(self, worker: Worker, said: dict[str, object]) -> None:
        answer = worker.post(said).json
        assert answer["id"] == 7
        assert answer["error"]["code"] < 0

    def test_over_tcp_the_guard_stands_before_it(self, worker: Worker) -> None:
        key = Key(37777, "secret")
        assert worker.post(hello(), key, host="127.0.0.1:37777").status == 401
        allowed = {"host": "127.0.0.1:37777", "authorization": "Bearer secret"}
        ours = {"accept": "application/json, text/event-stream", "content_type": "application/json"}
        assert worker.post(hello(), key, **allowed, **ours).status == 200
        assert worker.post(hello(), key, **allowed | {"host": "evil.example"}, **ours).status == 421

    def test_over_tcp_nobody_says_from_which_directory_he_comes(self, worker: Worker) -> None:
        here = {"x_claude_mem_cwd": b"/home/ada/shop".hex()}
        assert "error" not in worker.call("search", {"project": "."}, **here).json
        assert worker.desk.asked[-1][2] == FilterRequest(cwd="/home/ada/shop")
        key = Key(37777, "secret")
        headers = here | {
            "host": "127.0.0.1:37777",
            "authorization": "Bearer secret",
            "accept": "application/json",
            "content_type": "application/json",
        }
        params = {"name": "search", "arguments": {"project": "."}}
        said = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        assert worker.post(said, key, **headers).json["result"]["isError"] is True


class TestTools:
    def test_the_tools_are_those_of_the_three_steps_and_four_more(self, worker: Worker) -> None:
        tools = worker.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).json["result"]["tools"]
        by_name = {tool["name"]: tool for tool in tools}
        assert list(by_name) == [
            *("search", "timeline", "get_observations"),
            *("get_session", "file_history", "remember", "forget"),
        ]
        assert list(by_name["search"]["inputSchema"]["properties"]) == [
            *("project", "query", "limit", "offset"),
            *(each.name for each in filter_infos() if each.name != "project"),
        ]
        assert by_name["get_observations"]["inputSchema"]["required"] == ["ids"]
        for step, name in enumerate(("search", "timeline", "get_observations"), 1):
            assert by_name[name]["description"].startswith(f"Step {step} of 3.")
        for tool in tools:
            assert tool["annotations"]["readOnlyHint"] == (tool["name"] not in ("remember", "forget"))
            for about in tool["inputSchema"]["properties"].values():
                assert about["description"]
        assert by_name["forget"]["annotations"]["destructiveHint"] is True

    def test_search_gives_a_line_for_each_hit_and_the_same_data_as_http(self, worker: Worker) -> None:
        found = worker.found("search", query="cookie")
        assert found == worker.desk.search("cookie", FilterRequest(), Page(10))
        assert (
            "#1 bugfix 2026-11-10 shop  The login cookie expires  [src/login.py] (~120 tok)"
            in worker.told("search", query="cookie")
        )
        everything = worker.told("search")
        assert "[a.py, b.py, c.py +2]  {files changed since}" in everything
        assert "{pinned; saved by the user}" in everything
        assert "offset=2" in worker.told("search", limit=2)
        assert worker.told("search", query="nothing like it").startswith("No results.")

    def test_what_memory_says_is_inside_the_fence_and_what_we_say_outside(self, worker: Worker) -> None:
        told = worker.told("search")
        inside = told[told.index(f"<{TAG}>") : told.index(f"</{TAG}>")]
        assert DISARMED in inside
        assert told.count(DISARMED) == told.count(f"</{TAG}>") == 1
        assert "get_observations" not in inside
        for tool, arguments in (
            ("timeline", {"anchor": "2"}),
            ("get_observations", {"ids": [2]}),
            ("get_session", {"id": "session-a"}),
            ("file_history", {"path": "a.py"}),
            ("forget", {"ids": [2]}),
        ):
            told = worker.call(tool, dict(arguments)).text
            assert told.index(f"<{TAG}>") < told.index(DISARMED) < told.index(f"</{TAG}>"), tool

    def test_a_client_that_would_hide_the_text_is_given_nothing_else(self, worker: Worker) -> None:
        session = worker.post(hello("claude-code")).headers["mcp-session-id"]
        answer = worker.call("search", {"query": "cookie"}, mcp_session_id=session)
        assert "structuredContent" not in answer.json["result"]
        assert "#1 bugfix" in answer.text
        params = {"name": "search", "arguments": {}, "_meta": MODERN}
        modern = worker.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
        assert "structuredContent" not in modern.json["result"]

    def test_all_filters_reach_the_desk(self, worker: Worker) -> None:
        worker.found(
            "search",
            query="q",
            project="shop",
            type="bugfix,feature",
            kind=["prompt", "summary"],
            file="src/",
            branch="main",
            session="s",
            since="yesterday",
            until="today",
            limit="5",
            offset=10,
        )
        request = FilterRequest(
            project="shop",
            types=("bugfix", "feature"),
            kinds=("prompt", "summary"),
            file="src/",
            branch="main",
            session="s",
            since="yesterday",
            until="today",
        )
        assert worker.desk.asked[-1] == ("search", "q", request, Page(5, 10))

    def test_timeline_shows_what_was_before_and_after(self, worker: Worker) -> None:
        lines = worker.told("timeline", anchor=2, before=3, after="4").splitlines()
        order = [line[:4] for line in lines if "bugfix" in line]
        assert order == ["#1 b", "> #2", "#3 b"]
        assert worker.desk.asked[-1] == ("timeline", "2", "", FilterRequest(), 3, 4)

    def test_the_whole_of_a_memory_is_told_and_what_is_missing_named(self, worker: Worker) -> None:
        told = worker.told("get_observations", ids=["#1", 99])
        assert "It was set without Max-Age." in told
        assert "Facts:\n- a\n- b" in told
        assert told.startswith("Not found: #99.")
        assert worker.found("get_observations", ids="1, 3")["results"][1]["id"] == 3

    def test_a_session_is_told_with_its_neighbours(self, worker: Worker) -> None:
        told = worker.told("get_session", id="session")
        for part in ("session-a shop completed", "Learned: Cookies expire.", "#p4 prompt", "#1 bugfix"):
            assert part in told
        assert told.endswith(f"next: session-b\n</{TAG}>")

    def test_what_is_remembered_belongs_to_the_project_the_client_works_in(self, worker: Worker) -> None:
        headers = {"x_claude_mem_cwd": b"/home/ada/shop".hex()}
        answer = worker.call("remember", {"text": "Use staging", "files": "a.py"}, **headers)
        assert answer.text == "Saved as #9."
        assert worker.desk.asked[-1][2] == {"files": ["a.py"], "cwd": "/home/ada/shop"}
        worker.call("remember", {"text": "Use staging", "project": "till"}, **headers)
        assert worker.desk.asked[-1][2] == {"project": "till"}

    def test_nothing_is_forgotten_without_the_text_that_names_it(self, worker: Worker) -> None:
        found = worker.found("forget", ids=[1, "#3", "1"])
        assert (found["dry_run"], found["confirm"]) == (True, "forget 1 3")
        for wrong in ("yes", "forget", "forget 1", "forget 1 2", "forget 1 3 2"):
            answer = worker.call("forget", {"ids": [1, 3], "confirm": wrong}).json["result"]
            assert answer["isError"] is True
            assert '"forget 1 3"' in answer["content"][0]["text"]
        assert len(worker.desk.memories) == 3
        told = worker.told("forget", ids=[1, 3], confirm="Forget #1, #3")
        assert told == "Permanently deleted: 2 observations. Backups that still contain it: 1."
        assert [one["id"] for one in worker.desk.memories] == [2]

    @pytest.mark.parametrize(
        ("tool", "arguments", "sentence"),
        [
            ("search", {"since": "nonsense"}, "since is no time."),
            ("search", {"limit": 1000}, "`limit` must be an integer from 1 to 100."),
            ("search", {"limit": True}, "`limit` must be an integer from 1 to 100."),
            ("search", {"text": "x"}, "`text` must be one of: project, kind"),
            ("search", {"project": "."}, "The current project is unknown"),
            ("get_session", {"id": "other"}, "There is no session other."),
            ("get_session", {}, "`id` is missing."),
            ("get_observations", {"ids": ["x' OR 1"]}, '"x\' OR 1" is not a memory id'),
            ("get_observations", {"ids": []}, "`ids` is empty."),
            ("get_observations", {"ids": list(range(51))}, "51 ids are too many"),
            ("get_observations", {"ids": {"a": 1}}, "`ids` must be a list of ids"),
            ("search", {"query": "a bug"}, "Something went wrong"),
        ],
    )
    def test_what_cannot_be_answered_is_told_in_a_sentence(
        self, worker: Worker, tool: str, arguments: dict[str, object], sentence: str
    ) -> None:
        result = worker.call(tool, arguments).json["result"]
        assert result["isError"] is True
        assert sentence in result["content"][0]["text"]
        assert "canary" not in json.dumps(result)

    def test_a_bug_is_counted(self, worker: Worker) -> None:
        worker.call("search", {"query": "a bug"})
        assert worker.running.mishaps == {"mcp": 1}


def test_what_every_session_pays_for_before_it_asks_stays_short() -> None:
    described = [mcp_tools.INSTRUCTIONS, *(tool.about for tool in mcp_tools.TOOLS.values())]
    assert sum(len(text) for text in described) < 3000


def test_what_the_guard_lets_through_the_transport_takes(worker: Worker) -> None:
    large = "x" * (guard.MOST_BYTES - 1000)
    assert worker.call("search", {"query": large}).status == 200


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.fixed_dictionaries(
        {"jsonrpc": st.just("2.0") | JSON},
        optional={
            "id": st.integers() | st.text() | JSON,
            "method": st.sampled_from(METHODS) | JSON,
            "params": JSON
            | st.fixed_dictionaries(
                {"name": st.sampled_from(list(mcp_tools.TOOLS))},
                optional={
                    "arguments": st.dictionaries(st.sampled_from(ARGUMENTS), JSON, max_size=4) | JSON,
                    "_meta": st.just(MODERN) | st.dictionaries(st.sampled_from(list(MODERN)), JSON) | JSON,
                },
            ),
            "result": JSON,
        },
    ),
    st.sampled_from(["", "2025-11-25.x", "x", ".", "1999-01-01.%FF", "2026-07-28.x"]),
)
def test_whatever_is_said_is_answered_and_nothing_breaks(
    worker: Worker, said: dict[str, object], session: str
) -> None:
    answer = worker.post(said, None, mcp_session_id=session)
    assert answer.status < 500
    assert answer.status == 202 or answer.json.keys() & {"result", "error"}
    assert not worker.running.mishaps, worker.running.mishaps
