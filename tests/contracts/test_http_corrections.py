"""Corrections over HTTP: recall sees them immediately, and they can be undone."""

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.contracts import worker_client
from tests.contracts.worker_client import Worker, listening, refs

from claude_mem.recall.edit import LONGEST_TITLE
from claude_mem.serve import control


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    with worker_client.remembering(tmp_path_factory.mktemp("correcting") / "data") as worker:
        yield worker


def saved(worker: Worker, text: str, **more: object) -> str:
    return str(worker.post("/api/memory/save", text=text, **({"project": "shop"} | more))["ref"])


def whole(worker: Worker, ref: str) -> Any:
    return worker.get(f"/api/observation/{ref}")


def best(worker: Worker, query: str) -> str | None:
    """The first that has a word of it."""
    for found in worker.get("/api/search", q=query, kind="observation", explain="true")["results"]:
        if found["parts"]["words"]:
            return str(found["ref"])
    return None


def context(worker: Worker, project: str = "shop") -> str:
    return str(worker.get("/api/context/inject", project=project, format="json")["text"])


def undo(worker: Worker, answer: Any) -> Any:
    return worker.post(f"/api/undo/{answer['undo']['token']}")


class TestEditing:
    def test_an_edit_is_found_by_its_new_words_and_not_by_its_old_ones(self, worker: Worker) -> None:
        ref = saved(worker, "The wombat digs tunnels under the cellar", title="About wombats")
        answer = worker.post(
            "/api/memory/edit",
            id=ref,
            title="About echidnas",
            narrative="The echidna eats ants",
            facts=["spines"],
            concepts=["gotcha"],
            type="decision",
        )
        result = answer["result"]
        assert (result["title"], result["narrative"], result["type"]) == (
            "About echidnas",
            "The echidna eats ants",
            "decision",
        )
        assert (result["facts"], result["concepts"]) == (["spines"], ["gotcha"])
        assert result["edited_at_epoch"]
        assert best(worker, "echidna") == ref
        assert best(worker, "wombat") is None
        assert "About echidnas" in context(worker)

    def test_what_is_not_named_stays_and_null_empties(self, worker: Worker) -> None:
        ref = saved(worker, "The quokka smiles at tourists", title="Quokkas")
        before = whole(worker, ref)
        first = worker.post("/api/memory/edit", id=int(ref), subtitle="A marsupial")["result"]
        assert (first["title"], first["narrative"]) == (before["title"], before["narrative"])
        assert first["subtitle"] == "A marsupial"
        assert worker.post("/api/memory/edit", id=ref, subtitle=None)["result"]["subtitle"] is None

    def test_an_edit_is_taken_back_as_it_was(self, worker: Worker) -> None:
        ref = saved(worker, "The platypus lays eggs in burrows", title="Platypuses")
        before = whole(worker, ref)
        answer = worker.post("/api/memory/edit", id=ref, title="Numbats", narrative="They eat termites")
        assert undo(worker, answer) == {"status": "undone", "what": "edit", "refs": [ref]}
        edited_at = whole(worker, ref)["edited_at_epoch"]
        assert edited_at is not None  # it has said something else: forgetting it must know
        assert whole(worker, ref) == before | {"edited_at_epoch": edited_at}
        assert best(worker, "platypus") == ref
        assert best(worker, "numbats") is None

    def test_an_edited_memory_that_goes_out_and_comes_in_again_is_still_one(self, worker: Worker) -> None:
        ref = saved(worker, "The cassowary kicks hard", project="zoo")
        worker.post("/api/memory/edit", id=ref, title="Cassowaries", narrative="They kick")
        worker.post("/api/memory/wrong", ids=[ref])
        with control.streamed(worker.data, "GET", "/api/export?project=zoo", deadline_s=30) as exported:
            lines = exported.read()
        connection = http.client.HTTPConnection("127.0.0.1", worker.port)
        headers = {"Authorization": f"Bearer {worker.token}", "Content-Type": "application/x-ndjson"}
        connection.request("POST", "/api/import?own=true", lines, headers)
        taken = json.loads(connection.getresponse().read())
        connection.close()
        assert taken["taken"] == {}
        assert taken["known"]["observation"] == 1
        assert b'"wrong": true' in lines or b'"wrong":true' in lines
        assert worker.get("/api/observations", project="zoo", count="true")["total"] == 1

    def test_a_change_is_taken_back_once(self, worker: Worker) -> None:
        ref = saved(worker, "The bilby has long ears indeed")
        answer = worker.post("/api/memory/edit", id=ref, title="Bilbies")
        undo(worker, answer)
        assert worker.refused("POST", f"/api/undo/{answer['undo']['token']}", {})[:2] == (404, "not_found")

    def test_what_was_changed_again_is_not_taken_back(self, worker: Worker) -> None:
        ref = saved(worker, "The dingo howls rather than barks")
        first = worker.post("/api/memory/edit", id=ref, title="Dingoes")
        worker.post("/api/memory/edit", id=ref, title="Wild dogs")
        refused = worker.refused("POST", f"/api/undo/{first['undo']['token']}", {})
        assert refused[:2] == (409, "changed_meanwhile")
        assert whole(worker, ref)["title"] == "Wild dogs"

    def test_what_was_forgotten_is_not_brought_back(self, worker: Worker) -> None:
        ref, other = (
            saved(worker, "The thylacine is gone for good"),
            saved(worker, "The koala sleeps all day"),
        )
        gone = worker.post("/api/memory/edit", id=ref, title="Thylacines")
        kept = worker.post("/api/memory/edit", id=other, title="Koalas")
        worker.post("/api/memory/forget", ids=[ref], confirm=True)
        assert worker.refused("POST", f"/api/undo/{gone['undo']['token']}", {})[:2] == (404, "not_found")
        assert undo(worker, kept)["status"] == "undone"

    def test_private_text_and_secrets_are_not_edited_in(self, worker: Worker) -> None:
        ref = saved(worker, "The emu runs fast on the plain")
        edited = worker.post(
            "/api/memory/edit",
            id=ref,
            narrative="The emu <private>lives at Elm Street</private> runs",
            facts=["<private>all of it</private>", "two legs"],
        )["result"]
        assert "Elm" not in str(edited)
        assert edited["facts"] == ["two legs"]

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "title"),
            ({"title": ""}, "title"),
            ({"title": None}, "title"),
            ({"title": "x" * (LONGEST_TITLE + 1)}, "title"),
            ({"title": 5}, "title"),
            ({"type": "gossip"}, "type"),
            ({"type": None}, "type"),
            ({"facts": "one"}, "facts"),
            ({"facts": [1]}, "facts"),
            ({"concepts": [None]}, "concepts"),
        ],
    )
    def test_what_makes_no_memory_is_refused_by_its_name(
        self, worker: Worker, body: dict[str, object], field: str
    ) -> None:
        assert worker.refused("POST", "/api/memory/edit", {"id": 1} | body)[::2] == (400, field)

    @pytest.mark.parametrize("id", ["s1", "p1", "e1", "nonsense", {}, [], -1])
    def test_only_observations_can_be_edited(self, worker: Worker, id: object) -> None:
        status, code, field = worker.refused("POST", "/api/memory/edit", {"id": id, "title": "x"})
        assert (status, code) == (400, "bad_field")
        assert field in ("id", "ids")

    def test_an_observation_that_is_not_there_is_not_found(self, worker: Worker) -> None:
        assert worker.refused("POST", "/api/memory/edit", {"id": 99_999, "title": "x"})[0] == 404


class TestMarkingWrong:
    def test_what_is_wrong_is_kept_and_never_recalled(self, worker: Worker) -> None:
        ref = saved(worker, "The kiwi flies at night", title="Kiwis fly", files=["src/kiwi.py"])
        assert best(worker, "kiwi") == ref
        assert "Kiwis fly" in context(worker)
        answer = worker.post("/api/memory/wrong", ids=[ref])
        assert answer["results"] == [{"ref": ref, "wrong": True}]
        assert best(worker, "kiwi") is None
        assert "Kiwis fly" not in context(worker)
        assert ref not in refs(worker.get("/api/search", limit=100)["results"])
        assert ref not in refs(worker.get("/api/timeline", anchor="now", before=50)["before"])
        assert ref not in refs(worker.get("/api/file", path="src/kiwi.py")["results"])
        prompted = worker.post("/api/context/preview", project="shop", prompt="does the kiwi fly at night?")
        assert ref not in [hit["ref"] for hit in prompted["prompt"]["hits"]]

    def test_it_is_not_told_before_its_file_is_touched(self, worker: Worker) -> None:
        ref = saved(
            worker, "The weka steals lunches", title="Wekas steal", files=["src/weka.py"], type="decision"
        )
        asked = {"cwd": "/home/ada/shop", "file_path": "/home/ada/shop/src/weka.py"}
        assert "Wekas steal" in worker.told("PreToolUse", session_id="weka-1", **asked)
        worker.post("/api/memory/wrong", ids=[ref])
        assert "Wekas steal" not in worker.told("PreToolUse", session_id="weka-2", **asked)

    def test_it_is_still_shown_to_who_asks_for_it(self, worker: Worker) -> None:
        ref = saved(worker, "The takahe is blue and green", files=["src/takahe.py"])
        worker.post("/api/memory/wrong", ids=[ref])
        assert whole(worker, ref)["wrong"] is True
        assert "marked wrong" in whole(worker, ref)["marks"]
        assert ref in refs(worker.get("/api/search", q="takahe", wrong="true")["results"])
        assert ref in refs(worker.get("/api/file", path="src/takahe.py", wrong="true")["results"])
        assert ref in refs(worker.get("/api/observations", limit=100)["items"])
        assert ref in refs(worker.get("/api/observations", limit=100, wrong="true")["items"])
        assert ref not in refs(worker.get("/api/observations", limit=100, wrong="false")["items"])

    def test_a_mark_is_taken_back_either_way(self, worker: Worker) -> None:
        ref = saved(worker, "The kea steals the seals of cars")
        answer = worker.post("/api/memory/wrong", ids=[ref])
        undo(worker, answer)
        assert best(worker, "kea") == ref
        worker.post("/api/memory/wrong", ids=[ref])
        assert best(worker, "kea") is None
        worker.post("/api/memory/wrong", ids=[ref], wrong=False)
        assert best(worker, "kea") == ref

    def test_many_are_marked_and_taken_back_at_once(self, worker: Worker) -> None:
        many = [saved(worker, f"The {name} warbles in spring") for name in ("tui", "bellbird", "fantail")]
        answer = worker.post("/api/memory/wrong", ids=[*many, 99_999])
        assert [each["ref"] for each in answer["results"]] == many
        assert answer["missing"] == ["99999"]
        assert best(worker, "warbles") is None
        assert undo(worker, answer)["refs"] == many
        assert best(worker, "warbles") in many


class TestPinning:
    def test_a_pin_is_taken_back(self, worker: Worker) -> None:
        ref = saved(worker, "The albatross glides for days")
        answer = worker.post("/api/memory/pin", ids=[ref])
        assert whole(worker, ref)["pinned"] is True
        assert ref in refs(worker.get("/api/observations", pinned="true")["items"])
        undo(worker, answer)
        assert whole(worker, ref)["pinned"] is False
        assert ref not in refs(worker.get("/api/observations", pinned="true")["items"])

    def test_only_observations_are_pinned(self, worker: Worker) -> None:
        assert worker.refused("POST", "/api/memory/pin", {"ids": ["s1"]}) == (400, "bad_field", "ids")


class TestMerging:
    def test_one_stays_and_the_others_are_superseded_by_it(self, worker: Worker) -> None:
        first = saved(worker, "The gannet dives for mackerel")
        second = saved(worker, "Gannets plunge after mackerel shoals")
        worker.post("/api/memory/pin", ids=[second])
        answer = worker.post("/api/memory/merge", into=first, ids=[second, first])
        assert (answer["into"], answer["merged"]) == (first, [second])
        assert whole(worker, second)["superseded_by"] == int(first)
        assert whole(worker, first)["pinned"] is True
        came = worker.get(f"/api/observation/{first}/provenance")
        assert refs(came["supersedes"]) == [second]
        assert worker.get(f"/api/observation/{second}/provenance")["superseded_by"]["ref"] == first
        undo(worker, answer)
        assert whole(worker, second)["superseded_by"] is None
        assert (whole(worker, first)["pinned"], whole(worker, second)["pinned"]) == (False, True)

    def test_merging_the_other_way_round_makes_no_circle(self, worker: Worker) -> None:
        first, second = saved(worker, "The petrel nests in holes"), saved(worker, "Petrels breed in burrows")
        worker.post("/api/memory/merge", into=first, ids=[second])
        worker.post("/api/memory/merge", into=second, ids=[first])
        assert whole(worker, second)["superseded_by"] is None
        assert whole(worker, first)["superseded_by"] == int(second)

    def test_what_cannot_be_merged_is_refused(self, worker: Worker) -> None:
        ours, theirs = (
            saved(worker, "The heron stands still"),
            saved(worker, "The miller sleeps", project="mill"),
        )
        assert worker.refused("POST", "/api/memory/merge", {"into": ours, "ids": [theirs]})[::2] == (
            400,
            "ids",
        )
        assert worker.refused("POST", "/api/memory/merge", {"into": ours, "ids": [ours]})[::2] == (400, "ids")
        assert worker.refused("POST", "/api/memory/merge", {"into": "s1", "ids": [ours]})[::2] == (
            400,
            "into",
        )
        assert worker.refused("POST", "/api/memory/merge", {"into": ours, "ids": [99_999]})[0] == 404
        assert whole(worker, ours)["superseded_by"] is None


class TestSelecting:
    def test_a_search_comes_to_what_shares_its_words(self, worker: Worker) -> None:
        many = {saved(worker, f"The stoat raids nest number {number} at dawn") for number in range(3)}
        selected = worker.post("/api/memory/select", q="stoat raids", kind=["observation"], project="shop")
        assert set(selected["ids"]) == many
        assert selected["more"] is False

    def test_without_a_question_it_is_what_the_filters_say(self, worker: Worker) -> None:
        ref = saved(worker, "The weasel is alone in its burrow", project="burrow")
        assert worker.post("/api/memory/select", project="burrow")["ids"] == [ref]

    def test_without_a_question_it_is_what_the_list_shows_also_if_it_was_marked_wrong(
        self, worker: Worker
    ) -> None:
        right = saved(worker, "The polecat sleeps by day", project="warren")
        wrong = saved(worker, "The polecat never hunts rabbits", project="warren")
        worker.post("/api/memory/wrong", ids=[wrong])
        listed = [each["ref"] for each in worker.get("/api/observations", project="warren")["items"]]
        assert worker.post("/api/memory/select", project="warren")["ids"] == listed == [wrong, right]
        assert worker.post("/api/memory/select", project="warren", wrong=False)["ids"] == [right]
        assert worker.refused("POST", "/api/memory/select", {"project": "nobody"})[::2] == (400, "project")

    def test_a_long_list_is_gone_on_with_from_its_next(self, worker: Worker) -> None:
        tunnels = [{"title": f"The vole digs tunnel {n}", "project": "meadow"} for n in range(503)]
        assert worker.post("/api/import", records=tunnels)["imported"] == 503
        first = worker.post("/api/memory/select", project="meadow")
        assert (len(first["ids"]), first["more"]) == (500, True)
        rest = worker.post("/api/memory/select", project="meadow", cursor=first["next"])
        assert (len(rest["ids"]), rest["more"], rest["next"]) == (3, False, None)
        assert len({*first["ids"], *rest["ids"]}) == 503
        assert worker.refused("POST", "/api/memory/select", {"cursor": "badger"})[::2] == (400, "cursor")


def test_other_listeners_hear_of_every_correction(worker: Worker) -> None:
    ref = saved(worker, "The magpie collects what glitters")
    with listening(worker, tcp=True) as listener:
        answer = worker.post("/api/memory/edit", id=ref, title="Magpies")
        worker.post("/api/memory/pin", ids=[ref])
        worker.post("/api/memory/pin", ids=[ref], pinned=False)
        worker.post("/api/memory/wrong", ids=[ref])
        worker.post("/api/memory/forget", ids=[ref], confirm=True)
        worker.post("/api/memory/forget", text="There is no such text.", confirm=True)
        heard: list[tuple[str, list[str]]] = []
        while len(heard) < 6:
            told = listener.next()
            if told.name == "changed":
                heard.append((told.data["what"], told.data["refs"]))
    named = [(what, [ref]) for what in ("edit", "pin", "pin", "wrong", "forget")]
    assert heard == [*named, ("all", [])]  # what went is not told one by one
    assert answer["undo"]["until"] > 0
