"""Which memory goes out, and how what comes in is met."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.contracts.store_contract import NOON
from tests.contracts.transfer_contract import PROJECT, SESSION, made
from tests.unit.recall.recall_store import DAY, ELSEWHERE, House

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.model.errors import InvalidInput
from claude_mem.model.memory import Observation, Summary
from claude_mem.model.records import FOREIGN
from claude_mem.model.refs import Ref
from claude_mem.recall import record_exchange
from claude_mem.recall.record_exchange import Exporter, Importer, UnfitRecord
from claude_mem.store.values import ExportSelection, ImportResult


@pytest.fixture
def leaving(memory: House) -> Callable[..., list[Any]]:
    exporter = Exporter(
        store=memory.store,
        resolver=memory.resolver,
        search=memory.search,
        catch_up=memory.indexing.catch_up,
    )
    return lambda query="", **narrowed: list(exporter.export(query, FilterRequest(**narrowed)))


@pytest.fixture
def arriving(memory: House) -> Callable[..., ImportResult]:
    importer = Importer(
        transfer=memory.store.transfer,
        clock=memory.clock,
        clean=lambda text: text.replace("hunter2", ""),
        import_observations=memory.writing.import_observations,
        catch_up=memory.indexing.catch_up,
    )
    return lambda *records, own=False: importer.absorb(records, own=own)


def titles(records: list[dict[str, Any]]) -> list[str]:
    return [record["title"] for record in records if record["kind"] == "observation"]


class TestLeaving:
    @pytest.fixture(autouse=True)
    def filled(self, memory: House) -> None:
        memory.turn(
            "mend the till",
            observed=[Observation("bugfix", "The heron rounds up", files_modified=("till.py",))],
            summary=Summary(request="mend"),
        )
        memory.keep("The oven is hot", session="s2", origin=ELSEWHERE, days_ago=9, concepts=("heat",))

    def test_without_a_question_all_of_it_goes(self, leaving: Callable[..., Any]) -> None:
        assert titles(leaving()) == ["The oven is hot", "The heron rounds up"]
        assert "event" in {record["kind"] for record in leaving()}

    @pytest.mark.parametrize(
        ("narrowed", "left"),
        [
            ({"project": "mill"}, ["The oven is hot"]),
            ({"session": "s2"}, ["The oven is hot"]),
            ({"since": "3 days ago"}, ["The heron rounds up"]),
            ({"until": "3 days ago"}, ["The oven is hot"]),
            ({"types": ("bugfix",)}, ["The heron rounds up"]),
            ({"concepts": ("heat",)}, ["The oven is hot"]),
            ({"file": "till.py"}, ["The heron rounds up"]),
            ({"client": "zed"}, []),
            ({"kinds": ("evidence",)}, []),
            ({"cwd": "/nowhere"}, []),
        ],
    )
    def test_it_is_narrowed_as_a_search_is(
        self, leaving: Callable[..., Any], narrowed: dict[str, Any], left: list[str]
    ) -> None:
        records = leaving(**narrowed)
        assert titles(records) == left
        assert records[0]["kind"] == "claude-mem"
        assert bool(left) == (len(records) > 1), "nothing that fits is nothing, not everything"

    def test_a_question_takes_what_has_a_word_of_it_and_nothing_else(
        self, leaving: Callable[..., Any]
    ) -> None:
        found = leaving("heron")
        assert titles(found) == ["The heron rounds up"]
        assert {record["kind"] for record in found} == {"claude-mem", "project", "session", "observation"}
        assert [record["kind"] for record in leaving("zeppelin")] == ["claude-mem"]

    def test_what_was_understood_goes_without_what_was_done(self, leaving: Callable[..., Any]) -> None:
        kinds = {record["kind"] for record in leaving(kinds=("observation", "summary", "prompt"))}
        assert kinds == {"claude-mem", "project", "session", "prompt", "observation", "summary"}

    def test_a_project_that_nobody_knows_is_refused_before_the_first_record(
        self, leaving: Callable[..., Any]
    ) -> None:
        with pytest.raises(InvalidInput, match="nope"):
            leaving(project="nope")


class TestArriving:
    def test_what_comes_in_is_found_at_once_where_and_when_it_was(
        self, memory: House, arriving: Callable[..., Any]
    ) -> None:
        done = arriving(PROJECT, SESSION, made("observation", title="A heron lands", at=NOON - 9 * DAY))
        assert done == ImportResult({"project": 1, "session": 1, "observation": 1})
        (found,) = memory.reading.search("heron", FilterRequest(project="shop"), Page()).results
        assert (found.session_id, found.created_at_epoch) == ("theirs", NOON - 9 * DAY)
        assert found.source == "external"

    @pytest.mark.parametrize("own", [True, False])
    def test_secrets_go_from_every_field_of_an_untrusted_export_and_of_ones_own(
        self, memory: House, arriving: Callable[..., Any], own: bool
    ) -> None:
        arriving(
            PROJECT | {"remote": "hunter2"},
            SESSION | {"title": "x hunter2", "first_user_prompt": "hunter2"},
            made("prompt", text="is it hunter2?"),
            made("event", tool_input='{"p": "hunter2"}', tool_response="hunter2", text="hunter2"),
            made("observation", narrative="hunter2", facts=["a hunter2"], files_modified=["hunter2.py"]),
            made("summary", learned="hunter2", notes="hunter2"),
            own=own,
        )
        portable = memory.store.transfer
        assert "hunter2" not in str(list(portable.records(ExportSelection())))

    def test_what_other_tools_wrote_is_taken_too(self, memory: House, arriving: Callable[..., Any]) -> None:
        one = {"title": "Kept elsewhere", "project": "shop"}
        assert arriving(
            one, {"records": [one, {"title": "Another heron", "project": "shop"}]}, own=True
        ).taken == {"observation": 2}
        (found,) = memory.reading.search("heron", FilterRequest(), Page()).results
        assert found.source == "external"
        refused = arriving(made("project"), {"title": "Whose?"}, {"nothing": 1}).refused
        assert [index for index, _ in refused] == [1, 2]

    def test_what_has_no_kind_is_kept_apart_from_the_session_it_names(
        self, memory: House, arriving: Callable[..., Any]
    ) -> None:
        memory.keep("mine", session="s1")
        for own, count in ((False, 1), (True, 2)):
            arriving({"title": f"A heron {own}", "project": "shop", "session": "s1"}, own=own)
            assert memory.library.count_by_kind("s1")["observation"] == count

    @pytest.mark.parametrize("version", [2, "1", None])
    def test_a_newer_format_is_refused_whole(
        self, memory: House, arriving: Callable[..., Any], version: object
    ) -> None:
        with pytest.raises(InvalidInput, match="Upgrade claude-mem"):
            arriving(PROJECT, SESSION, {"kind": "claude-mem", "version": version})
        assert memory.store.sessions.find("theirs") is None
        arriving({"kind": "claude-mem", "version": 1}, PROJECT, SESSION)
        assert memory.store.sessions.find("theirs") is not None

    def test_what_it_cannot_take_is_told_by_its_place(self, arriving: Callable[..., Any]) -> None:
        future = made("observation", at=NOON + 3 * DAY)
        refused = arriving(PROJECT, {"kind": "x"}, SESSION, future, made("prompt", number=-1)).refused
        assert [index for index, _ in refused] == [1, 3, 4]
        assert "future" in refused[1][1]

    def test_an_import_from_elsewhere_takes_the_place_of_nothing(
        self, memory: House, arriving: Callable[..., Any]
    ) -> None:
        """What one's own work would replace, a stranger's words stand beside."""
        memory.keep("The till rounds up at 30 pence", files_modified=("till.py",), days_ago=1)
        later = {"title": "The till rounds up at 40 pence", "files": ["till.py"], "project": "shop"}
        arriving(later)
        (card,) = memory.library.cards([Ref("observation", 1)])
        assert card.superseded_by is None
        memory.keep("The till rounds up at 50 pence", files_modified=("till.py",), indexed=False)
        assert memory.found("pence", superseded=True), "one's own does"


class TestStrangers:
    def test_texts_and_lists_are_cut(self) -> None:
        given = made("observation", title="x" * 80_000, facts=["y" * 9_000] * 300, concepts=["", 7, "z"])
        kept = record_exchange.fit_untrusted(given, str, NOON)
        assert (len(kept["title"]), len(kept["facts"]), len(kept["facts"][0])) == (70_000, 200, 2_000)
        assert kept["concepts"] == ["z"]

    def test_names_are_never_cut(self) -> None:
        with pytest.raises(UnfitRecord, match="session_id"):
            record_exchange.fit_untrusted(made("prompt", session_id="x" * 1_001), str, NOON)

    def test_a_session_says_whose_it_is(self) -> None:
        assert (
            record_exchange.fit_untrusted(made("session", client="claude-code"), str, NOON)["client"]
            == FOREIGN
        )

    def test_what_is_no_record_is_the_stores_to_refuse(self) -> None:
        for odd in ({"kind": "x"}, {"kind": ["a"]}, made("prompt", text=7, at="noon")):
            assert record_exchange.fit_untrusted(odd, str, NOON) == odd
