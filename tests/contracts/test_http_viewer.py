"""The data of the viewer's pages, over HTTP: a real worker on a real database."""

import http.client
from collections.abc import Iterator
from typing import Any

import pytest
from tests.contracts import worker_client
from tests.contracts.worker_client import Listener, Worker, refs
from tests.harness import workers

from claude_mem.serve.http.app import TABLE
from claude_mem.serve.http.router import Endpoint
from claude_mem.serve.http.routes import viewer_routes
from claude_mem.serve.requests import fields


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker_client.remembering(tmp_path_factory.mktemp("viewer") / "data") as worker:
        yield worker


def paged(worker: Worker, path: str, **asked: object) -> list[Any]:
    """Everything, page after page."""
    items: list[Any] = []
    cursor = ""
    while True:
        page = worker.get(path, **asked, cursor=cursor) if cursor else worker.get(path, **asked)
        items += page.get("items", page.get("results"))
        if page["next"] is None:
            return items
        cursor = page["next"]


class TestLists:
    @pytest.mark.parametrize("kind", ["observations", "summaries", "prompts", "sessions"])
    def test_pages_by_cursor_are_the_whole_list(self, worker: Worker, kind: str) -> None:
        whole = worker.get(f"/api/{kind}", limit=100, count="true")
        assert len(whole["items"]) == whole["total"] > 1
        assert paged(worker, f"/api/{kind}", limit=1) == whole["items"]
        assert worker.get(f"/api/{kind}", limit=1)["total"] is None

    def test_the_feed_of_all_kinds_goes_on_where_it_was(self, worker: Worker) -> None:
        whole = refs(worker.get("/api/search", limit=100)["results"])
        assert {ref[:1] for ref in whole} >= {"s", "p"}
        assert refs(paged(worker, "/api/search", limit=2)) == whole

    def test_a_list_stays_where_it_is_when_something_is_added_before_it(self, worker: Worker) -> None:
        first = worker.get("/api/observations", limit=2)
        rest = refs(worker.get("/api/observations", limit=50, cursor=first["next"])["items"])
        worker.post("/api/memory/save", text="Something came in between", project="shop")
        assert refs(worker.get("/api/observations", limit=50, cursor=first["next"])["items"]) == rest

    def test_what_is_counted_is_what_the_filters_say(self, worker: Worker) -> None:
        assert worker.get("/api/observations", project="mill", count="true")["total"] == 1
        assert worker.get("/api/sessions", project="mill", count="true")["total"] == 1

    @pytest.mark.parametrize("cursor", ["x", "12", "1-x1", "-1-1", "9" * 30 + "-1"])
    def test_what_is_no_cursor_is_refused_by_its_name(self, worker: Worker, cursor: str) -> None:
        for path in ("/api/observations", "/api/sessions", "/api/search", "/api/session/shop-1/events"):
            assert worker.refused("GET", path, cursor=cursor) == (400, "bad_field", "cursor")


class TestPages:
    def test_a_session_is_told_in_order_with_its_evidence(self, worker: Worker) -> None:
        told = worker.get("/api/session/shop-1/events", limit=200)
        kinds = [item["kind"] for item in told["items"]]
        assert kinds[0] == "prompt"
        assert kinds[-1] == "summary"
        assert set(kinds) == {"prompt", "evidence", "observation", "summary"}
        assert told["counts"] == {kind: kinds.count(kind) for kind in set(kinds)}
        assert told["total"] == len(kinds)
        edit = next(item for item in told["items"] if item.get("tool_name") == "Edit")
        assert "src/login.py" in edit["tool_input"]
        assert paged(worker, "/api/session/shop-1/events", limit=1) == told["items"]
        only = worker.get("/api/session/shop-1/events", kind="prompt,summary")
        assert {item["kind"] for item in only["items"]} == {"prompt", "summary"}

    def test_where_a_memory_comes_from(self, worker: Worker) -> None:
        found = worker.get("/api/observations", session="shop-1")["items"][0]
        came = worker.get(f"/api/observation/{found['ref']}/provenance")
        assert came["session"]["session_id"] == "shop-1"
        assert came["prompt"]["title"].startswith("Fix the login")
        assert [use["type"] for use in came["tool_uses"]] == ["Edit"]
        assert came["provider"] == "offline"
        assert (came["supersedes"], came["superseded_by"]) == ([], None)
        for ref in ("s1", "p1", "e1"):
            assert worker.get(f"/api/observation/{ref}/provenance")["ref"] == ref
        for ref in ("99999", "nonsense"):
            assert worker.refused("GET", f"/api/observation/{ref}/provenance")[0] == 404

    def test_when_a_memory_was_told_to_whom(self, worker: Worker) -> None:
        ref = worker.post("/api/memory/save", text="Deploys need the VPN of the office", project="shop")[
            "ref"
        ]
        assert worker.get(f"/api/observation/{ref}/provenance")["injected_times"] == 0
        asked = {"session_id": "told-1", "cwd": "/home/ada/shop", "prompt": "Do deploys need the office VPN?"}
        assert "VPN" in worker.told("UserPromptSubmit", **asked)

        def told() -> bool:
            return bool(worker.get(f"/api/observation/{ref}/provenance")["injected_times"])

        workers.until(told, "it is noted that it was told")
        (once,) = worker.get(f"/api/observation/{ref}/provenance")["injected"]
        assert (once["session_id"], once["event"]) == ("told-1", "UserPromptSubmit")
        cost = worker.get("/api/cost", days=2)
        assert cost["injected"][-1]["times"] >= 1
        assert cost["injected"][-1]["tokens"] >= once["tokens"]

    def test_others_that_say_the_same_are_named(self, worker: Worker) -> None:
        first, second = (
            worker.post("/api/memory/save", text=text, title=title, project="shop")["ref"]
            for text, title in (
                ("It begins at noon", "The tide table of the harbour"),
                ("It ends at dusk", "The tide table of our harbour"),
            )
        )
        assert second in refs(worker.get(f"/api/observation/{first}/provenance")["duplicates"])

    def test_a_project_as_a_whole(self, worker: Worker) -> None:
        ref = worker.get("/api/observations", session="shop-1")["items"][0]["ref"]
        worker.post("/api/memory/pin", ids=[ref])
        page = worker.get("/api/project", project="shop")
        assert page["project"]["name"] == "shop"
        assert page["project"]["sessions"] >= 2
        prompts = worker.get("/api/prompts", project="shop", limit=100)["items"]
        assert sum(day["prompts"] for day in page["activity"]) == len(prompts) >= 2
        assert page["types"]["bugfix"] >= 1
        assert {file["path"] for file in page["files"]} >= {"src/login.py", "src/basket.py"}
        assert refs(page["pinned"]) == [ref]
        assert {session["session_id"] for session in page["sessions"]} >= {"shop-1", "shop-2"}
        assert worker.get("/api/project", cwd="/home/ada/shop")["project"] == page["project"]
        assert worker.refused("GET", "/api/project") == (400, "missing_field", "project")
        assert worker.refused("GET", "/api/project", project="nobody")[::2] == (400, "project")
        assert worker.refused("GET", "/api/project", cwd="/nowhere")[0] == 404

    def test_what_filters_can_be_set_to(self, worker: Worker) -> None:
        found = worker.get("/api/facets")
        assert {"shop", "mill"} <= set(found["projects"])
        assert "bugfix" in found["types"]
        assert "api" in found["clients"]
        assert worker.get("/api/facets", project="mill")["concepts"] == ["what-changed"]


class TestCost:
    def test_without_a_model_it_is_nothing_on_every_day(self, worker: Worker) -> None:
        cost = worker.get("/api/cost", days=7)
        assert len(cost["by_day"]) == len(cost["injected"]) == 7
        assert cost["total"]["calls"] == 0
        assert cost["batching"]["saved_tokens"] == 0
        assert cost["batching"]["explained"]
        assert cost["budget"]["daily_usd"] == 2.0
        assert worker.refused("GET", "/api/cost", days="0")[::2] == (400, "days")


class TestPreview:
    ASKED = "why did the login fail with an empty password?"

    def preview(self, worker: Worker, **more: object) -> Any:
        return worker.post("/api/context/preview", **({"project": "shop"} | more))

    def test_it_is_what_the_next_start_is_told(self, worker: Worker) -> None:
        start = self.preview(worker)["start"]
        asked = {"session_id": "next-1", "cwd": "/home/ada/shop", "source": "startup"}
        assert worker.told("SessionStart", **asked) == start["text"]
        assert start["refs"]

    def test_it_is_what_a_prompt_is_told_and_why(self, worker: Worker) -> None:
        told = self.preview(worker, prompt=self.ASKED)["prompt"]
        asked = {"session_id": "next-2", "cwd": "/home/ada/shop", "prompt": self.ASKED}
        assert worker.told("UserPromptSubmit", **asked) == told["text"]
        assert [hit["ref"] for hit in told["hits"] if hit["selected"]] == told["refs"] != []
        for hit in told["hits"]:
            assert {"words", "prior"} <= set(hit["parts"])
        assert told["evidence"] >= told["enough"]

    def test_a_prompt_that_says_nothing_is_told_nothing(self, worker: Worker) -> None:
        assert self.preview(worker, prompt="ok")["prompt"]["text"] == ""
        assert self.preview(worker)["prompt"] is None

    def test_other_sizes_count_here_only(self, worker: Worker) -> None:
        for place in ("north", "south", "west"):
            worker.post("/api/memory/save", text=f"Deploys to the {place} need the VPN.", project="shop")
        whole = self.preview(worker, prompt=self.ASKED)
        sizes = {"context_characters": whole["start"]["characters"] - 50, "prompt_characters": 0}
        small = self.preview(worker, prompt=self.ASKED, **sizes)
        assert 0 < small["start"]["characters"] <= sizes["context_characters"]
        assert small["prompt"]["text"] == ""
        assert small["settings"] == whole["settings"] | sizes
        assert small["in_force"] == whole["in_force"] == whole["settings"]
        assert self.preview(worker, prompt=self.ASKED) == whole
        assert not (worker.data / "settings.json").exists()

    def test_nothing_is_noted(self, worker: Worker) -> None:
        before = self.noted(worker, "before")
        self.preview(worker, prompt=self.ASKED)
        assert self.noted(worker, "after") == before + 1

    def noted(self, worker: Worker, session: str) -> int:
        """How often prompts were told something, once that of this session is noted too. A worker notes it
        after it has answered, one after the other: then all earlier ones are noted as well."""
        told = worker.told("UserPromptSubmit", session_id=session, cwd="/home/ada/shop", prompt=self.ASKED)
        ref = self.preview(worker, prompt=self.ASKED)["prompt"]["refs"][0]
        assert told

        def sessions() -> list[str]:
            return [each["session_id"] for each in worker.get(f"/api/observation/{ref}")["injected"]]

        workers.until(lambda: session in sessions(), f"what {session} was told is noted")
        times = worker.get("/api/cost", days=2)["injected_by_event"]
        return next(int(each["times"]) for each in times if each["event"] == "UserPromptSubmit")

    def test_what_cannot_be_previewed_is_refused(self, worker: Worker) -> None:
        assert worker.refused("POST", "/api/context/preview", {}) == (400, "missing_field", "project")
        assert worker.refused("POST", "/api/context/preview", {"cwd": "/nowhere"})[0] == 404
        bad = {"project": "shop", "context_characters": 10_000}
        assert worker.refused("POST", "/api/context/preview", bad)[::2] == (400, "context_characters")


class TestStanding:
    def test_the_banner_says_what_is_wrong_and_what_helps(self, worker: Worker) -> None:
        assert worker.get("/api/status")["recording"] == "on"
        try:
            paused = worker.post("/api/recording", paused=True)
            assert paused["recording"] == "paused"
            (banner,) = paused["banners"]
            assert (banner["code"], banner["fix"]) == ("paused", "claude-mem on")
        finally:
            after = worker.post("/api/recording", paused=False)
        assert (after["recording"], after["banners"]) == ("on", [])

    def test_a_session_can_be_paused_by_itself(self, worker: Worker) -> None:
        paused = worker.post("/api/recording", paused=True, session="shop-1")
        assert (paused["recording"], paused["paused"]["sessions"]) == ("on", ["shop-1"])
        assert worker.post("/api/recording", paused=False, session="shop-1")["paused"]["sessions"] == []

    def test_the_log_is_told_from_a_level_on_and_from_a_place_on(self, worker: Worker) -> None:
        told = worker.get("/api/logs", level="INFO")
        assert told["lines"][0]["text"].startswith("worker ")
        assert {"at", "level", "logger", "text"} == set(told["lines"][0])
        assert worker.get("/api/logs", after=told["next"])["lines"] == []
        assert not [
            line for line in worker.get("/api/logs", level="ERROR")["lines"] if line["level"] == "INFO"
        ]
        assert worker.refused("GET", "/api/logs", after="x")[::2] == (400, "after")
        assert worker.refused("GET", "/api/logs", level="LOUD")[::2] == (400, "level")


class TestTheViewersFiles:
    def asked(self, worker: Worker, path: str, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=workers.PATIENCE_S)
        connection.putrequest("GET", path, skip_accept_encoding=True)
        for name, value in ({"Authorization": f"Bearer {worker.token}"} | headers).items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        response.read()
        connection.close()
        return response

    def test_every_file_of_the_viewer_is_served_as_what_it_is(self, worker: Worker) -> None:
        files = [path for path in viewer_routes.FOLDER.rglob("*") if path.is_file()]
        assert files
        types = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
        for path in files:
            reply = self.asked(worker, f"/viewer/{path.relative_to(viewer_routes.FOLDER)}")
            assert reply.status == 200
            assert str(reply.headers["content-type"]).startswith(types[path.suffix])

    def test_what_is_known_already_is_not_sent_again(self, worker: Worker) -> None:
        first = self.asked(worker, "/")
        tag = str(first.headers["etag"])
        assert first.headers["cache-control"] == "private, no-cache"
        assert self.asked(worker, "/", If_None_Match=tag).status == 304
        assert self.asked(worker, "/", If_None_Match='"another"').status == 200

    def test_who_can_unpack_it_is_sent_less(self, worker: Worker) -> None:
        plain = self.asked(worker, "/viewer/main.js")
        packed = self.asked(worker, "/viewer/main.js", Accept_Encoding="gzip, br")
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip"
        assert packed.headers["vary"] == "Accept-Encoding"
        assert int(str(packed.headers["content-length"])) < int(str(plain.headers["content-length"])) / 2
        tag = str(packed.headers["etag"])
        assert tag != plain.headers["etag"]
        assert self.asked(worker, "/viewer/main.js", If_None_Match=tag).status == 200
        again = self.asked(worker, "/viewer/main.js", If_None_Match=tag, Accept_Encoding="gzip")
        assert again.status == 304

    @pytest.mark.parametrize(
        "path",
        [
            "/viewer/",
            "/viewer/..",
            "/viewer/../guard.py",
            "/viewer/%2e%2e/guard.py",
            "/viewer/%2e%2e%2fguard.py",
            "/viewer//etc/passwd",
            "/viewer/%2fetc%2fpasswd",
            "/viewer/..%5cguard.py",
            "/viewer/index.html%00",
            "/viewer/index.html/",
            "/viewer/.hidden.js",
            "/viewer/nothing.js",
            "/viewer/" + "a/" * 50 + "b.js",
            "/viewer/" + "a" * 5000 + ".js",
        ],
    )
    def test_nothing_else_is(self, worker: Worker, path: str) -> None:
        assert self.asked(worker, path).status == 404


def test_a_browser_that_is_signed_in_hears_the_stream(worker: Worker) -> None:
    link = worker.post("/api/signin")["link"]
    connection = http.client.HTTPConnection("127.0.0.1", worker.port, timeout=workers.PATIENCE_S)
    try:
        connection.request("GET", link.partition(str(worker.port))[2])
        signed_in = connection.getresponse()
        signed_in.read()
        cookie = str(signed_in.headers["set-cookie"]).partition(";")[0]
        page_key = str(signed_in.headers["location"]).partition("?key=")[2]
        sent = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin", "X-Claude-Mem-Key": page_key}
        connection.request("GET", "/stream", headers=sent)
        listener = Listener(connection)
        assert {"queue", "observer", "sessions", "projects"} <= set(listener.initial.data)
        assert {"ready", "leased", "spooled", "oldest_ready_at"} <= set(listener.initial.data["queue"])
        assert listener.initial.data["observer"] == {
            "provider": "offline",
            "paused": None,
            "spentUp": None,
            "working": False,
        }
        worker.works("signed-1", "Sign the guest book", "src/guests.py")
        listener.until("new_summary", session_id="signed-1")
    finally:
        connection.close()


JUNK: list[object] = [
    *(None, True, 0, -1, 2**70, 1.5, 1e308, "", " ", "x" * 20_000, "\0", "\u202e", "\ud83d", "%", "null"),
    *([], [[]], [None], ["x"] * 600, {}, {"a": {"b": []}}, [1, 2**70]),
]


PATHS = (
    *("/api/memory/edit", "/api/memory/wrong", "/api/memory/merge", "/api/memory/select", "/api/undo/{id}"),
    *("/api/observation/{id}/provenance", "/api/session/{id}/events", "/api/project", "/api/facets"),
    *("/api/cost", "/api/context/preview", "/api/status", "/api/recording", "/api/settings", "/api/logs"),
)


@pytest.mark.parametrize(
    "row", [row for row in TABLE if row.path in PATHS], ids=lambda row: f"{row.method} {row.path}"
)
def test_no_field_of_any_route_breaks_it(worker: Worker, row: Endpoint) -> None:
    """Row 24, by hand: each field with each kind of junk."""
    path = row.path.replace("{id}", "1")
    good: dict[str, object] = {
        "project": "shop",
        "ids": [1],
        "id": 1,
        "into": 2,
        "paused": False,
        "title": "x",
    }
    for field in fields(row.body) if row.body else ():
        for junk in JUNK:
            if (field.name, junk) != ("paused", True):
                status, answer = worker.ask(row.method, path, good | {field.name: junk})
                assert status < 500, (field.name, junk, answer)
    for field in fields(row.query) if row.query else ():
        for junk in JUNK:
            if junk is not None:
                asked = {"project": "shop", field.name: str(junk).encode(errors="replace")[:2_000]}
                status, answer = worker.ask(row.method, path, **asked)
                assert status < 500, (field.name, junk, answer)
    for junk in ("0", "-1", "%00", "%F0%9F%98%80", "x" * 2_000, "s999999999999", "..", "%2e%2e"):
        if "{id}" in row.path:
            status, answer = worker.ask(
                row.method, row.path.replace("{id}", junk), dict(good) if row.body else None
            )
            assert status < 500, (junk, answer)
