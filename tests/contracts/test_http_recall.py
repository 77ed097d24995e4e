"""Recall over HTTP, as its callers meet it: a real worker on a real database."""

import json
from collections.abc import Iterator

import pytest
from msgspec import UNSET, structs
from tests.contracts import worker_client
from tests.contracts.worker_client import Worker, over_tcp, refs, timeless

from claude_mem.api import memories

FIELDS = {field.encode_name for field in structs.fields(memories.Memory) if field.default is not UNSET}
HOSTILE = [
    '"',
    "'; DROP TABLE observations; --",
    "AND OR NOT NEAR(",
    "a* ^b -c +d {e}:f",
    "*",
    "\0",
    "\u202e\ufeff",
    "%_\\",
    "日本語のログイン",
    "\N{GRINNING FACE}" * 50,
    "(" * 500,
    "x" * 20_000,
    "word " * 4_000,
    "<script>alert(1)</script>",
    "..",
    "title:login",
]


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker_client.remembering(tmp_path_factory.mktemp("recall") / "data") as worker:
        yield worker


class TestSearching:
    def test_a_question_in_plain_words_finds_what_was_done(self, worker: Worker) -> None:
        found = worker.get("/api/search", q="why did the login fail with an empty password?")
        assert found["query"]
        assert "text" in found["legs"]
        assert found["results"][0]["session_id"] == "shop-1"
        assert found["results"][0]["score"] == max(result["score"] for result in found["results"])

    def test_raw_events_are_folded_unless_they_are_asked_for(self, worker: Worker) -> None:
        folded = worker.get("/api/search", q="login passwords")
        assert "evidence" not in {each["kind"] for each in folded["results"]}
        raw = worker.get("/api/search", q="login passwords", raw="true")
        assert "evidence" in {each["kind"] for each in raw["results"]}

    def test_the_results_of_a_session_are_together_and_every_session_is_described(
        self, worker: Worker
    ) -> None:
        found = worker.get("/api/search", q="login basket burrs", limit=50)
        sessions = [each["session_id"] for each in found["results"]]
        in_order = list(dict.fromkeys(sessions))
        assert len(in_order) > 1
        assert sessions == sorted(sessions, key=in_order.index)
        assert [each["session_id"] for each in found["sessions"]] == in_order

    def test_every_result_carries_every_field(self, worker: Worker) -> None:
        for result in worker.get("/api/search", q="login basket burrs")["results"]:
            assert set(result) >= FIELDS
            assert isinstance(result["id"], int)
            assert isinstance(result["files"], list)

    def test_the_documents_other_names_are_understood(self, worker: Worker) -> None:
        asked = worker.get("/api/search", q="login", since="last year")
        other = worker.get("/api/search", query="login", dateStart="last year")
        assert timeless(other) == timeless(asked)

    def test_without_a_question_it_is_the_newest(self, worker: Worker) -> None:
        times = [result["created_at_epoch"] for result in worker.get("/api/search")["results"]]
        assert times
        assert times == sorted(times, reverse=True)

    def test_filters_narrow_and_lists_are_written_two_ways(self, worker: Worker) -> None:
        both = worker.get("/api/search", q="login", kind="observation,prompt", project="shop")
        again = worker.get("/api/search", q="login", kind=["observation", "prompt"], project="shop")
        assert timeless(both) == timeless(again)
        assert {result["kind"] for result in both["results"]} <= {"observation", "prompt"}
        assert {result["project"] for result in both["results"]} == {"shop"}
        mill = worker.get("/api/search", q="login burrs", session="mill-1")["results"]
        assert {result["session_id"] for result in mill} == {"mill-1"}
        of_file = worker.get("/api/search", q="basket", file="src/basket.py")["results"]
        assert of_file
        assert all(any(path.endswith("src/basket.py") for path in result["files"]) for result in of_file)
        assert not worker.get("/api/search", q="login", until="2001-01-01")["results"]

    def test_pages_are_disjoint_and_add_up(self, worker: Worker) -> None:
        whole = refs(worker.get("/api/search", limit=100)["results"])
        assert len(whole) > 4
        pages: list[str] = []
        while True:
            page = worker.get("/api/search", limit=2, offset=len(pages))
            pages += refs(page["results"])
            assert (page["limit"], page["offset"]) == (2, len(pages) - len(page["results"]))
            if not page["hasMore"]:
                break
        assert pages == whole
        assert worker.get("/api/search", offset=100_000)["results"] == []

    def test_explaining_adds_the_parts_of_the_score_and_changes_nothing_else(self, worker: Worker) -> None:
        plain = worker.get("/api/search", q="login")["results"]
        explained = worker.get("/api/search", q="login", explain="true")["results"]
        assert refs(plain) == refs(explained)
        assert any(set(result) > set(other) for result, other in zip(explained, plain, strict=True))

    @pytest.mark.parametrize("query", HOSTILE)
    def test_no_question_is_an_error_whatever_it_holds(self, worker: Worker, query: str) -> None:
        assert isinstance(worker.get("/api/search", q=query)["results"], list)

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("limit", "0"),
            ("limit", "101"),
            ("limit", "x"),
            ("offset", "-1"),
            ("offset", "9" * 30),
            ("explain", "maybe"),
            ("superseded", "perhaps"),
            ("kind", "observation,nonsense"),
            ("since", "the day the music died"),
            ("until", "\0"),
        ],
    )
    def test_a_bad_field_is_refused_by_its_name(self, worker: Worker, field: str, value: str) -> None:
        assert worker.refused("GET", "/api/search", q="x", **{field: value}) == (400, "bad_field", field)

    @pytest.mark.parametrize(
        "field", ["project", "cwd", "file", "branch", "session", "client", "type", "concept"]
    )
    @pytest.mark.parametrize("value", ["'; --", "\0nobody's", "../" * 50, "日本語", "[", "x" * 5_000])
    def test_a_strange_filter_finds_nothing_or_is_refused_by_its_name(
        self, worker: Worker, field: str, value: str
    ) -> None:
        status, answer = worker.ask("GET", "/api/search", q="login", **{field: value})
        if status == 200:
            assert answer["results"] == []
        else:
            assert (status, answer["error"]["field"]) == (400, field)


class TestReading:
    @pytest.mark.parametrize("kind", ["observation", "summary", "prompt"])
    def test_lists_are_the_newest_first_in_pages(self, worker: Worker, kind: str) -> None:
        path = {"observation": "/api/observations", "summary": "/api/summaries", "prompt": "/api/prompts"}[
            kind
        ]
        items = worker.get(path, limit=100)["items"]
        assert len(items) >= 3
        assert {item["kind"] for item in items} == {kind}
        assert all(set(item) >= FIELDS - {"score", "snippet"} for item in items)
        times = [item["created_at_epoch"] for item in items]
        assert times == sorted(times, reverse=True)
        first, second = worker.get(path, limit=1), worker.get(path, limit=1, offset=1)
        assert refs(first["items"] + second["items"]) == refs(items[:2])
        assert (first["hasMore"], first["limit"], second["offset"]) == (True, 1, 1)
        assert {item["project"] for item in worker.get(path, project="mill")["items"]} == {"mill"}

    def test_sessions_and_projects_are_listed(self, worker: Worker) -> None:
        sessions = worker.get("/api/sessions")["items"]
        assert {session["session_id"] for session in sessions} >= {"shop-1", "shop-2", "mill-1"}
        assert all(session["status"] for session in sessions)
        mill = worker.get("/api/sessions", project="mill")["items"]
        assert {session["session_id"] for session in mill} == {"mill-1"}
        assert {project["name"] for project in worker.get("/api/projects")["items"]} >= {"shop", "mill"}
        assert worker.get("/api/projects", limit=1)["hasMore"] is True

    def test_one_memory_is_told_whole(self, worker: Worker) -> None:
        for path in ("/api/observations", "/api/summaries", "/api/prompts"):
            ref = worker.get(path, limit=1)["items"][0]["ref"]
            whole = worker.get(f"/api/observation/{ref}")
            assert whole["ref"] == ref
            assert set(whole) >= FIELDS - {"score", "snippet"}

    @pytest.mark.parametrize(
        "id", ["999999", "s999999", "0", "nobody", "%00", "%FF", "9" * 40, "-1", "1.5", "1%2F2"]
    )
    def test_a_memory_that_is_not_there_is_not_found(self, worker: Worker, id: str) -> None:
        assert worker.refused("GET", f"/api/observation/{id}")[:2] == (404, "not_found")

    def test_many_are_told_at_once_in_the_order_asked_for(self, worker: Worker) -> None:
        ids = [item["id"] for item in worker.get("/api/observations")["items"][:3]]
        summary = worker.get("/api/summaries", limit=1)["items"][0]["ref"]
        asked = [ids[2], str(ids[0]), summary, 999_999, ids[2]]
        found = worker.post("/api/observations/batch", ids=asked)
        assert refs(found["results"]) == [str(ids[2]), str(ids[0]), summary]
        assert [str(ref) for ref in found["missing"]] == ["999999"]
        by_time = worker.post("/api/observations/batch", ids=ids, orderBy="date_asc", limit=2)["results"]
        times = [result["created_at_epoch"] for result in by_time]
        assert len(times) == 2
        assert times == sorted(times)

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"ids": []},
            {"ids": 5},
            {"ids": [True]},
            {"ids": [{}]},
            {"ids": [""]},
            {"ids": [-1]},
            {"ids": [10**30]},
            {"ids": ["x" * 100]},
            {"ids": list(range(1, 600))},
        ],
    )
    def test_what_is_no_list_of_memories_is_refused(self, worker: Worker, body: dict[str, object]) -> None:
        status, _, field = worker.refused("POST", "/api/observations/batch", body)
        assert (status, field) == (400, "ids")

    def test_a_session_is_told_whole_by_any_of_its_names(self, worker: Worker) -> None:
        whole = worker.get("/api/session/shop-1")
        assert set(whole) >= {"session", "prompts", "observations", "summaries", "previous", "next"}
        assert whole["session"]["session_id"] == "shop-1"
        assert whole["prompts"][0]["session_id"] == "shop-1"
        assert worker.get(f"/api/session/{whole['session']['session_db_id']}") == whole
        assert worker.get("/api/session/mill")["session"]["session_id"] == "mill-1"

    @pytest.mark.parametrize("id", ["nobody", "%00", "%FF", "%F0%9F%98%80", "x" * 2000, "999999"])
    def test_a_session_nobody_knows_is_not_found(self, worker: Worker, id: str) -> None:
        assert worker.refused("GET", f"/api/session/{id}")[:2] == (404, "not_found")

    def test_a_timeline_has_its_anchor_in_the_middle(self, worker: Worker) -> None:
        times = worker.get("/api/observations", limit=100)["items"]
        anchor = times[len(times) // 2]
        found = worker.get("/api/timeline", anchor=anchor["ref"], before=1, after=2)
        assert found["anchor"]["ref"] == anchor["ref"]
        assert len(found["before"]) <= 1
        assert len(found["after"]) <= 2
        around = [*found["before"], found["anchor"], *found["after"]]
        at = [result["created_at_epoch"] for result in around]
        assert at == sorted(at)
        by_query = worker.get("/api/timeline", q="login empty passwords", before=0, after=0)
        assert by_query["anchor"]["session_id"] == "shop-1"

    def test_a_timeline_around_nothing_in_particular_is_what_was_last(self, worker: Worker) -> None:
        last = worker.get("/api/timeline", before=2)
        assert (last["anchor"], len(last["before"]), last["after"]) == (None, 2, [])

    def test_a_timeline_around_what_nobody_knows_is_refused_by_its_name(self, worker: Worker) -> None:
        assert worker.refused("GET", "/api/timeline", anchor="999999")[:2] == (404, "not_found")
        assert worker.refused("GET", "/api/timeline", anchor="the day the music died")[2] == "anchor"
        assert worker.refused("GET", "/api/timeline", anchor="1", before=51)[2] == "before"

    def test_a_files_history_is_told_by_the_end_of_its_path(self, worker: Worker) -> None:
        results = worker.get("/api/file", path="src/login.py")["results"]
        assert {result["session_id"] for result in results} == {"shop-1"}
        assert worker.get("/api/file", path="src/login.py", project="mill")["results"] == []
        assert worker.get("/api/file", path="no/such.file")["results"] == []
        assert worker.refused("GET", "/api/file") == (400, "missing_field", "path")

    def test_the_context_is_text_or_data(self, worker: Worker) -> None:
        status, answer = worker.ask("GET", "/api/context/inject", project="shop")
        assert status == 200
        told = worker.get("/api/context/inject", project="shop", format="json")
        assert set(told) >= {"text", "tokens", "refs", "project"}
        assert answer == {"text": told["text"]}
        assert "login" in told["text"].lower()
        assert "burrs" not in told["text"]
        reply = over_tcp(worker, "/api/context/inject?project=shop")
        assert reply.headers["content-type"].startswith("text/plain")
        assert worker.refused("GET", "/api/context/inject") == (400, "missing_field", "project")
        assert worker.refused("GET", "/api/context/inject", project="shop", source="x")[2] == "source"

    def test_figures_are_told(self, worker: Worker) -> None:
        assert isinstance(worker.get("/api/stats"), dict)


class TestChanging:
    def test_what_is_saved_is_found_at_once_with_all_that_was_said(self, worker: Worker) -> None:
        saved = worker.post(
            "/api/memory/save",
            text="Deployments need the Wolpertinger VPN — überall.",
            title="Deploying",
            project="shop",
            type="decision",
            files=["deploy.sh"],
            concepts=["gotcha"],
        )
        assert (saved["status"], saved["ref"], saved["title"]) == ("saved", str(saved["id"]), "Deploying")
        [first, *_] = worker.get("/api/search", q="wolpertinger")["results"]
        assert (first["ref"], first["source"], first["type"]) == (saved["ref"], "user", "decision")
        assert first["project"] == "shop"
        assert first["files"] == ["deploy.sh"]

    def test_private_text_and_secrets_are_never_saved(self, worker: Worker) -> None:
        key = "sk-ant-" + "api03-" + "A1b2C3d4" * 10
        saved = worker.post(
            "/api/memory/save",
            text=f"Open <private>canary-hidden</private> with {key} tomorrow",
            project="shop",
        )
        whole = json.dumps(worker.get(f"/api/observation/{saved['ref']}"))
        assert "tomorrow" in whole
        assert "canary-hidden" not in whole
        assert key not in whole

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "text"),
            ({"text": "  "}, "text"),
            ({"text": 5}, "text"),
            ({"text": "x" * (memories.LONGEST_TEXT + 1)}, "text"),
            ({"text": "x", "project": "shop", "type": "nonsense"}, "type"),
            ({"text": "x", "project": "shop", "files": "a.py"}, "files"),
            ({"text": "x", "project": "shop", "files": [5]}, "files"),
        ],
    )
    def test_what_cannot_be_saved_is_refused_by_its_name(
        self, worker: Worker, body: dict[str, object], field: str
    ) -> None:
        status, _, named = worker.refused("POST", "/api/memory/save", body)
        assert (status, named) == (400, field)

    @pytest.mark.parametrize("text", [text for text in HOSTILE if text.strip("\0\u202e\ufeff")])
    def test_strange_text_is_kept_as_it_is_said(self, worker: Worker, text: str) -> None:
        saved = worker.post("/api/memory/save", text=text, project="strange")
        assert worker.get(f"/api/observation/{saved['ref']}")["project"] == "strange"

    def test_memories_are_pinned_and_no_longer(self, worker: Worker) -> None:
        id = worker.get("/api/observations", limit=1)["items"][0]["id"]
        answer = worker.post("/api/memory/pin", ids=[id, 999_999])
        assert answer["results"] == [{"ref": str(id), "pinned": True}]
        assert [str(ref) for ref in answer["missing"]] == ["999999"]
        assert worker.get(f"/api/observation/{id}")["pinned"] is True
        worker.post("/api/memory/pin", ids=[id], pinned=False)
        assert worker.get(f"/api/observation/{id}")["pinned"] is False
        assert worker.refused("POST", "/api/memory/pin", {"ids": [999_999]})[:2] == (404, "not_found")
        assert worker.refused("POST", "/api/memory/pin", {"ids": []})[2] == "ids"

    def test_forgetting_takes_two_words_and_is_for_good(self, worker: Worker) -> None:
        saved = worker.post("/api/memory/save", text="Remember the Quagga", project="shop")["ref"]
        for body in ({"ids": [saved]}, {"ids": [saved], "confirm": True, "dry_run": True}):
            would = worker.post("/api/memory/forget", **body)
            assert (would["dry_run"], would["observations"], refs(would["sample"])) == (True, 1, [saved])
        assert (
            worker.refused("POST", "/api/memory/forget", {"ids": [saved], "dry_run": False})[2] == "confirm"
        )
        assert worker.get("/api/search", q="quagga")["results"][0]["ref"] == saved
        gone = worker.post("/api/memory/forget", ids=[saved], confirm=True)
        assert (gone["dry_run"], gone["observations"]) == (False, 1)
        assert saved not in refs(worker.get("/api/search", q="quagga")["results"])
        assert worker.refused("GET", f"/api/observation/{saved}")[0] == 404

    def test_of_a_session_as_much_goes_as_was_shown(self, worker: Worker) -> None:
        worker.works("ford-1", "Mark the ford's depth", "src/ford.py", project="ford")
        worker.settle()
        would = worker.post("/api/memory/forget", session="ford-1")
        gone = worker.post("/api/memory/forget", session="ford-1", confirm=True)
        names = ("sessions", "observations", "summaries", "prompts", "evidence")
        assert [would[name] for name in names] == [gone[name] for name in names] == [1, 1, 1, 1, 2]

    @pytest.mark.parametrize("body", [{}, {"confirm": True}, {"ids": [], "confirm": True}, {"text": " "}])
    def test_forgetting_nothing_in_particular_is_refused(
        self, worker: Worker, body: dict[str, object]
    ) -> None:
        before = worker.get("/api/stats")["observations"]
        assert worker.refused("POST", "/api/memory/forget", body)[0] == 400
        assert worker.get("/api/stats")["observations"] == before

    def test_records_are_taken_in_once_and_bad_ones_are_named(self, worker: Worker) -> None:
        record = {
            "title": "The Okapi server keeps its clock in UTC",
            "narrative": "It always has.",
            "type": "discovery",
            "project": "zoo",
        }
        answer = worker.post("/api/import", records=[record, {"title": 5}])
        assert answer["imported"] == 1
        assert [error["index"] for error in answer["errors"]] == [1]
        assert worker.post("/api/import", records=[record])["skipped"] == 1
        found = worker.get("/api/search", q="okapi clock", project="zoo")["results"]
        assert len(found) == 1

    @pytest.mark.parametrize(
        "records",
        [None, "x", [5], [[]], [{}] * (memories.MOST_RECORDS + 1)],
        ids=["none", "text", "5", "list", "many"],
    )
    def test_what_is_no_list_of_records_is_refused(self, worker: Worker, records: object) -> None:
        status, _, field = worker.refused("POST", "/api/import", {"records": records})
        assert (status, field) == (400, "records")
