"""Search, timeline, details and lists, as the faces get them."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from msgspec import to_builtins
from tests.contracts.store_contract import NOON
from tests.unit.recall.recall_store import DAY, ELSEWHERE, House, copied

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.api.memories import FoundMemory
from claude_mem.model.errors import AmbiguousSession, InvalidInput, NotFound
from claude_mem.model.memory import Observation, Summary
from claude_mem.recall.answers import Json
from claude_mem.store.values import Injection

ANYTHING = FilterRequest()
RESULT = [
    "id",
    "ref",
    "kind",
    "session_id",
    "project",
    "title",
    "type",
    "created_at",
    "created_at_epoch",
    "files",
    "branch",
    "score",
    "snippet",
    "tokens",
    "pinned",
    "superseded_by",
    "source",
    "marks",
]


def refs(results: Sequence[FoundMemory | Json]) -> list[str]:
    return [result["ref"] for result in to_builtins(results)]


@pytest.fixture
def days(memory: House) -> House:
    """One memory a day: `day 9` … `day 0`, in five sessions."""
    for ago in range(9, -1, -1):
        memory.keep(
            f"day {ago}",
            f"heron {ago}",
            session=f"session-{ago // 2}",
            days_ago=ago,
            files_modified=(f"src/{ago}.py",),
        )
    return memory


def titles(results: Sequence[FoundMemory | Json]) -> list[str]:
    return [result["title"] for result in to_builtins(results)]


def test_a_result_carries_all_that_every_face_shows(days: House) -> None:
    answer = days.reading.search("heron", ANYTHING, Page(limit=3))
    assert all(set(RESULT) <= to_builtins(result).keys() for result in answer.results)
    assert (answer.legs, answer.note, answer.has_more) == (("text",), None, True)
    json.dumps(to_builtins(answer))


def test_pages_follow_one_another_without_gap_or_repetition(days: House) -> None:
    for query in ("heron", ""):
        pages = [days.reading.search(query, ANYTHING, Page(3, offset)) for offset in (0, 3, 6, 9)]
        found = [ref for page in pages for ref in refs(page.results)]
        assert len(found) == len(set(found)) == 10
        assert [page.has_more for page in pages] == [True, True, True, False]


def test_without_a_query_the_newest_come_first(days: House) -> None:
    answer = days.reading.search("  ", FilterRequest(file="src/", since="3 days ago"), Page())
    assert titles(answer.results) == ["day 0", "day 1", "day 2", "day 3"]
    assert answer.legs == ("time",)


def test_a_files_list_is_counted_and_knows_what_was_saved_a_moment_ago(days: House) -> None:
    days.keep("A brand-new heron", indexed=False, files_modified=("src/3.py",))
    listed = days.reading.listed("observations", FilterRequest(file="src/3.py"), Page(1, count=True))
    assert (titles(listed.items), listed.total) == (["A brand-new heron"], 2)
    (after,) = days.reading.listed("observations", FilterRequest(file="src/3.py"), Page(1, 1)).items
    assert after["title"] == "day 3"


def test_what_was_saved_a_moment_ago_is_found(memory: House) -> None:
    memory.keep("A brand-new heron", indexed=False)
    assert titles(memory.reading.search("heron", ANYTHING, Page()).results) == ["A brand-new heron"]


def test_explained_a_score_is_the_sum_of_its_parts_times_the_prior(days: House) -> None:
    best = days.reading.search("heron", ANYTHING, Page(1), explain=True).results[0]
    parts = dict(best.parts or {})
    prior = parts.pop("prior")
    assert best.score == pytest.approx(sum(parts.values()) * prior, abs=0.01)


@pytest.mark.parametrize("anchor", ["5", "#5", "5 days ago"], ids=["a ref", "with a hash", "a time"])
def test_a_timeline_goes_both_ways_from_its_anchor(days: House, anchor: str) -> None:
    answer = days.reading.timeline(anchor, ANYTHING, before=2, after=2)
    around = [*titles(answer.before), *titles(answer.after)]
    if answer.anchor:
        assert answer.anchor.title == "day 5"
        assert around == ["day 7", "day 6", "day 4", "day 3"]
    else:
        assert around == ["day 7", "day 6", "day 5", "day 4"], "from that day's first moment on"


def test_a_timeline_around_a_session_and_around_a_query(days: House) -> None:
    around = days.reading.timeline("session-2", ANYTHING, before=1, after=2)
    assert (titles(around.before), titles(around.after)) == (["day 5"], ["day 4", "day 3"])
    asked = days.reading.timeline("", ANYTHING, before=1, after=1, query="heron 4")
    assert asked.anchor
    assert asked.anchor.title == "day 4"
    assert (titles(asked.before), titles(asked.after)) == (["day 5"], ["day 3"])


def test_a_timeline_stays_in_its_anchors_project(days: House) -> None:
    days.keep("day 5 elsewhere", origin=ELSEWHERE, session="m", days_ago=5)
    answer = days.reading.timeline("5", ANYTHING)
    assert "day 5 elsewhere" not in titles(answer.before + answer.after)


def test_what_is_not_there_is_said(days: House) -> None:
    with pytest.raises(NotFound):
        days.reading.timeline("999", ANYTHING)
    with pytest.raises(NotFound):
        days.reading.timeline("", ANYTHING, query="zzz")
    with pytest.raises(NotFound):
        days.reading.session("nobody")
    with pytest.raises(InvalidInput):
        days.reading.timeline("half past never", ANYTHING)
    with pytest.raises(InvalidInput):
        days.reading.file_history(" ", ANYTHING)


def test_details_come_in_the_order_asked_for_with_all_that_is_kept_and_who_was_told(memory: House) -> None:
    memory.keep("one", "the narrative", facts=("a", "b"), concepts=("c",))
    memory.keep("two")
    memory.keeping.injections.note_injection(Injection("later", "SessionStart", ("1",), 9, NOON))
    answer = memory.reading.details(["2", "1", "2", "s7", "what?"])
    assert titles(answer.results) == ["two", "one"]
    assert answer.missing == ["s7", "what?"]
    one = answer.results[1]
    assert (one["narrative"], one["facts"], one["concepts"]) == ("the narrative", ["a", "b"], ["c"])
    assert [told["session_id"] for told in one["injected"]] == ["later"]


def test_where_nobody_looked_who_was_told_of_a_memory_nothing_is_said_of_it(memory: House) -> None:
    memory.keep("one")
    memory.keeping.injections.note_injection(Injection("later", "SessionStart", ("1",), 9, NOON))
    (listed,) = memory.reading.listed("observations", ANYTHING, Page()).items
    (shown,) = memory.reading.session("s1").observations
    (many,) = memory.reading.details(["1", *(f"s{number}" for number in range(20))]).results
    assert listed["injected"] is shown["injected"] is many["injected"] is None
    (looked_up,) = memory.reading.details(["1"]).results
    assert len(looked_up["injected"]) == 1


def test_a_session_is_shown_whole_between_its_neighbours(memory: House) -> None:
    for name, at in (("aaaa-1", NOON), ("bbbb-2", NOON + DAY), ("cccc-3", NOON + 2 * DAY)):
        seen = [Observation("change", f"done in {name}")]
        memory.turn(f"work on {name}", session=name, observed=seen, summary=Summary(request=name), at=at)
    memory.turn("work", session="dddd-4", origin=ELSEWHERE, at=NOON + DAY)
    answer = memory.reading.session("bbbb")
    assert answer.session.session_id == "bbbb-2"
    assert titles(answer.prompts) == ["work on bbbb-2"]
    assert titles(answer.observations) == ["done in bbbb-2"]
    assert titles(answer.summaries) == ["bbbb-2"]
    assert answer.previous
    assert answer.previous.session_id == "aaaa-1"
    assert answer.next
    assert answer.next.session_id == "cccc-3"
    assert memory.reading.session("aaaa-1").previous is None
    assert memory.reading.session(str(answer.session.session_db_id)).session == answer.session


def test_a_day_is_a_day_although_sessions_ids_begin_with_it(memory: House) -> None:
    for session in ("cline:2026-01-31-a", "cline:2026-01-31-b"):
        memory.keep(session, session=session)
    assert memory.reading.timeline("2026-01-31", FilterRequest()).at.startswith("2026-01-31")
    with pytest.raises(AmbiguousSession):
        memory.reading.timeline("2026-01-31-", FilterRequest())


def test_a_files_history_runs_across_sessions_the_newest_first(memory: House) -> None:
    memory.keep("made it", files_modified=("src/a.py",), session="one", days_ago=5)
    memory.keep("read it", files_read=("/home/a/shop/src/a.py",), session="two", days_ago=3)
    memory.keep("another a", files_modified=("lib/a.py",), session="two", days_ago=2)
    read = memory.tool("Read", '{"file_path": "/home/a/shop/src/a.py"}', session="three")
    memory.turn("look", read, session="three", at=NOON)
    for path in ("src/a.py", "/home/a/shop/src/a.py"):
        assert titles(memory.reading.file_history(path, ANYTHING).results) == ["read it", "made it"]
    assert titles(memory.reading.file_history("a.py", FilterRequest(session="two")).results) == [
        "another a",
        "read it",
    ]
    only_seen = memory.tool("Read", '{"file_path": "/home/a/shop/src/b.py"}', session="three", use_id="b")
    memory.turn("look", only_seen, session="three", at=NOON)
    (raw,) = memory.reading.file_history("src/b.py", ANYTHING).results
    assert raw.kind == "evidence", "where nothing was understood, the raw evidence stands in"


def test_lists_of_everything(memory: House) -> None:
    memory.turn("hello", observed=[Observation("change", "x")], summary=Summary(request="y"))
    memory.keep("z", origin=ELSEWHERE, session="m")
    counts = {
        kind: len(memory.reading.listed(kind, ANYTHING, Page()).items)
        for kind in ("observations", "summaries", "prompts", "evidence")
    }
    assert counts == {"observations": 2, "summaries": 1, "prompts": 1, "evidence": 1}
    assert len(memory.reading.sessions(ANYTHING, Page()).items) == 2
    assert len(memory.reading.projects(Page()).items) == 2
    page = memory.reading.sessions(FilterRequest(project="mill"), Page())
    assert [each.session_id for each in page.items] == ["m"]


def test_a_list_by_concept_reaches_the_oldest(memory: House) -> None:
    """Thousands of newer ones have another concept."""
    wanted = [
        memory.keep(f"Rare {n}", concepts=("gotcha",), days_ago=90 + n, indexed=False) for n in range(5)
    ]
    copied(memory, memory.keep("Common", concepts=("how-it-works",), indexed=False), 4_100)
    page = memory.reading.listed(
        "observations", FilterRequest(concepts=("gotcha",)), Page(limit=3, count=True)
    )
    assert refs(page.items) == [str(ref) for ref in wanted[:3]]
    assert (page.has_more, page.total) == (True, 5)
    rest = Page(limit=3, cursor=page.next or "")
    last = memory.reading.listed("observations", FilterRequest(concepts=("gotcha",)), rest)
    assert refs(last.items) == [str(ref) for ref in wanted[3:]]
    assert not last.has_more
