"""One search over a real store: words, sessions, files, vectors, priors, filters."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.contracts.store_contract import ORIGIN
from tests.unit.recall.recall_store import DAY, ELSEWHERE, House, house

from claude_mem.model.full_text import query_words
from claude_mem.model.memory import Observation, Summary
from claude_mem.model.refs import Filters, Ref, memory_key
from claude_mem.model.structs import replace
from claude_mem.recall.rank import WorkContext
from claude_mem.store.relational import text_matcher
from claude_mem.store.values import ForgetPlan, Revision, TextMatch, TextQuery
from claude_mem.vectors.backend import STATIC_WEIGHT, VectorsUnavailable
from claude_mem.vectors.indexer import Similarity


def test_everything_that_was_said_or_done_is_found(memory: House) -> None:
    edit = memory.tool("Edit", '{"file_path": "/home/a/shop/src/kiosk.py", "new_string": "zebra"}')
    memory.turn(
        "please repair the quokka",
        edit,
        observed=[Observation("bugfix", "Repaired it", narrative="an ocelot was in the way")],
        summary=Summary(request="repair", learned="the lemur bites"),
    )
    kinds = {word: memory.found(word)[0][:1] for word in ("quokka", "ocelot", "lemur", "zebra", "kiosk")}
    assert kinds == {"quokka": "p", "ocelot": "1", "lemur": "s", "zebra": "e", "kiosk": "e"}


def test_an_exact_identifier_lifts_its_hits(memory: House) -> None:
    apart = memory.keep("The user may parse the file", "parse user parse user", session="a", days_ago=0)
    exact = memory.keep("Changed parseUser in the reader", session="b", days_ago=30)
    for query in ("parseUser", "parse_user", '"parse user"'):
        assert memory.found(query)[0] in (str(exact), str(apart))
        parts = {hit.card.ref: hit.parts["words"] for hit in memory.hits(query).hits}
        assert parts[exact] > 0
    assert memory.found("parseUser") == [str(exact), str(apart)]


def test_a_version_alone_is_found_whole(memory: House) -> None:
    memory.keep("Waited 2 seconds, 1 try, 0 errors", session="a")
    exact = memory.keep("Upgraded to 2.1.0", session="b")
    assert memory.found("2.1.0") == [str(exact)]


def test_a_titles_words_count_more_than_a_bodys_than_a_files(memory: House) -> None:
    file = memory.keep("Cut it", "again and again", files_modified=("otter.py",), session="c")
    body = memory.keep("Washed up", "the otter again", session="b")
    title = memory.keep("The otter sings", "again and again", session="a")
    assert memory.found("otter") == [str(title), str(body), str(file)]


def test_another_projects_words_do_not_count(memory: House) -> None:
    memory.keep("The parser of dates", origin=ELSEWHERE, session="m")
    ours = memory.keep("A parser for money", session="s")
    assert memory.found("parser", project_id=memory.project().id) == [str(ours)]
    assert len(memory.found("parser")) == 2


def test_how_rare_a_word_is_is_asked_of_the_project_alone(memory: House) -> None:
    """Elsewhere everything is about the kiln; here one memory is, and it is what makes it special."""
    for number in range(60):
        memory.keep(f"kiln number {number}", origin=ELSEWHERE, session=f"m{number}", indexed=False)
    for number in range(20):
        memory.keep(f"glaze number {number}", session=f"s{number}", indexed=False)
    special = memory.keep("glaze for the kiln", session="special")
    here = memory.project().id
    assert memory.found("kiln glaze", project_id=here)[0] == str(special)
    by_word = {each.word: each for each in _matched(memory, "kiln glaze", here)}
    assert max(by_word["kiln"].scores.values()) > 3 * max(by_word["glaze"].scores.values())


def _matched(memory: House, query: str, project_id: int) -> Iterable[TextMatch]:
    return memory.library.match(TextQuery(*query_words(query)), project_id).matched


def test_what_is_added_between_two_searches_does_not_upset_the_second(memory: House) -> None:
    """How many memories there are is not remembered longer than it holds."""
    memory.keep("kiln", session="s0")
    assert memory.found("kiln", project_id=memory.project().id)
    for number in range(1, 8):
        memory.keep(f"kiln {number}", session=f"s{number}")
    hits = memory.hits("kiln", project_id=memory.project().id).hits
    assert len(hits) == 8
    assert 0 < max(hit.score for hit in hits) < 1.5 * min(hit.score for hit in hits)


def test_who_waits_is_answered_by_what_was_counted_a_little_earlier(memory: House) -> None:
    def total(*, is_hurried: bool) -> int:
        wording = TextQuery(("kiln",), is_hurried=is_hurried)
        return memory.library.match(wording, memory.project().id).sizes.total

    def keep(first: int, last: int) -> None:
        for number in range(first, last):
            memory.keep(f"kiln {number}", session=f"s{number}")

    keep(0, 20)
    before = total(is_hurried=True)
    keep(20, 22)
    assert total(is_hurried=True) == before
    exact = total(is_hurried=False)
    assert exact > before
    assert total(is_hurried=True) == exact
    keep(22, 40)
    assert total(is_hurried=True) > exact


def test_a_phrase_of_words_that_very_many_have_counts_once_where_it_is(
    memory: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        memory.keep(f"Dry {number}", session=f"d{number}", indexed=False)
        memory.keep(f"Run {number}", session=f"r{number}", indexed=False)
    for number in range(3):
        memory.keep(f"Number {number}", "A dry run. " * (1 + number), session=f"s{number}")

    def scores() -> list[float]:
        (phrase,) = (each for each in _matched(memory, "dry-run", memory.project().id) if each.is_phrase)
        return sorted({round(score, 6) for score in phrase.scores.values()})

    assert len(scores()) == 3
    monkeypatch.setattr(text_matcher, "COUNTED", 5)
    assert len(scores()) == 1


def test_nothing_that_speaks_against_a_memory_keeps_it_from_being_found(memory: House) -> None:
    old = memory.keep(
        "The walrus protocol", days_ago=3000, source="external", origin=replace(ORIGIN, branch="dead")
    )
    memory.staleness.marks[old] = ("branch never merged", "files changed since")
    memory.keep("The walrus protocol, second edition", session="s2")  # supersedes it, or not
    memory.store.writer.run(
        lambda db: db.execute("UPDATE observations SET superseded_by = 2 WHERE id = 1").rowcount
    )
    memory.keeping.deletion.forget(_of(Ref("observation", 2)))
    (hit,) = memory.hits("walrus").hits
    assert hit.card.ref == old
    assert hit.marks == ("branch never merged", "files changed since")


def _of(*refs: Ref) -> ForgetPlan:
    return ForgetPlan(refs)


@pytest.mark.parametrize("tip", ["pinned", "recent", "branch", "file"])
def test_of_two_that_answer_alike_the_prior_decides(memory: House, tip: str) -> None:
    all_of_them: dict[str, dict[str, Any]] = {
        "recent": {"days_ago": 0},
        "branch": {"origin": replace(ORIGIN, branch="feature")},
        "file": {"files_modified": ("src/here.py",)},
    }
    favoured = all_of_them.get(tip, {})
    first = memory.keep("Tuned the heron cache", session="a", **({"days_ago": 60} | favoured))
    beside: dict[str, Any] = {"files_modified": ("src/away.py",)} if tip == "file" else {}
    memory.keep("Broke the heron queue", session="b", days_ago=60, **beside)
    if tip == "pinned":
        memory.keeping.memories.revise([Revision(first.id, {"pinned": 1})])
    found = memory.search("heron", Filters(), 5, WorkContext(frozenset(("src/here.py",)), "feature"))
    assert found.hits[0].card.ref == first


def test_no_session_fills_the_list_and_near_duplicates_are_one(memory: House) -> None:
    for thing in ("cache", "queue", "index", "socket", "clock"):
        memory.keep(f"Mended the badger {thing}", "badger badger", session="loud")
    quiet = memory.keep("A badger was seen, once, by somebody else", session="quiet")
    memory.keep("a Badger was seen, once, by somebody else", "in other words", session="echo")
    found = memory.found("badger")
    assert str(quiet) in found[:4]
    assert len(found) == 6


def test_what_a_fork_repeats_is_found_in_the_fork(memory: House) -> None:
    """The original is shorter, so the word tells more of it."""
    asked = "why does the ibis cache forget its keys"
    memory.turn(asked, session="original", at=memory.clock() - DAY)
    memory.turn(asked, session="fork", at=memory.clock())
    for thing in ("queue", "index", "socket"):
        memory.turn(f"and what of the {thing}", session="fork", at=memory.clock())
    assert [hit.card.session for hit in memory.hits("ibis cache").hits] == ["fork"]


def test_a_path_finds_who_changed_it_before_who_speaks_of_it(memory: House) -> None:
    speaks = memory.keep("store.py store.py src", "src store py src store py", session="talk")
    changed = memory.keep("Rewrote it", files_modified=("src/store.py",), session="work", days_ago=9)
    beside = memory.keep("Something near", files_modified=("src/other.py",), session="near", days_ago=9)
    found = memory.found("src/store.py")
    assert found[0] == str(changed)
    assert {str(speaks), str(beside)} < set(found)
    assert memory.found("@src/store.py")[0] == str(changed), "as people point at files"


@pytest.fixture
def varied(memory: House) -> House:
    memory.keep(
        "pelican one", type="bugfix", concepts=("io",), files_modified=("src/a.py",), session="s1", days_ago=1
    )
    memory.keep(
        "pelican two",
        type="decision",
        concepts=("api",),
        files_read=("docs/b.md",),
        session="s2",
        days_ago=10,
    )
    memory.keep(
        "pelican three", origin=replace(ORIGIN, branch="dev"), session="s3", client="cursor", days_ago=40
    )
    memory.keep("pelican four", origin=ELSEWHERE, session="s4", days_ago=1)
    memory.store.writer.run(
        lambda db: db.execute("UPDATE observations SET superseded_by = 1 WHERE id = 2").rowcount
    )
    memory.turn("a pelican?", session="s5")
    return memory


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({}, {"1", "2", "3", "4", "p1"}),
        ({"project_id": 1}, {"1", "2", "3", "p1"}),
        ({"kinds": ("prompt",)}, {"p1"}),
        ({"types": ("bugfix", "decision")}, {"1", "2"}),
        ({"concepts": ("api",)}, {"2"}),
        ({"file": "src/a.py"}, {"1"}),
        ({"file": "a.py"}, {"1"}),
        ({"file": "docs/"}, {"2"}),
        ({"file": "*.md"}, {"2"}),
        ({"equal": {"branch": "dev"}}, {"3"}),
        ({"session": "s2"}, {"2"}),
        ({"equal": {"client": "cursor"}}, {"3"}),
        ({"superseded": True}, {"2"}),
        ({"superseded": False}, {"1", "3", "4", "p1"}),
        (
            {"project_id": 1, "kinds": ("observation",), "superseded": False, "equal": {"branch": "main"}},
            {"1"},
        ),
        ({"types": ("bugfix",), "file": "*.md"}, set()),
    ],
    ids=lambda value: str(sorted(value) if isinstance(value, set) else value),
)
def test_filters(varied: House, filters: dict[str, Any], found: set[str]) -> None:
    assert set(varied.found("pelican", **filters)) == found
    listed = varied.library.list_cards(Filters(**filters), limit=100)
    assert {str(card.ref) for card in listed if "pelican" in card.title} == found, "and without a query"


def test_dates_filter(varied: House) -> None:
    week = varied.clock() - 7 * DAY
    assert set(varied.found("pelican", since=week)) == {"1", "4", "p1"}
    assert set(varied.found("pelican", until=week, since=week - 30 * DAY)) == {"2"}


def test_a_narrow_filter_finds_what_ranks_far_down(memory: House) -> None:
    for number in range(400):
        memory.keep(f"falcon falcon {number}", session=f"s{number}", indexed=False)
    needle = memory.keep(
        "much about many things, and a falcon in it", type="decision", session="z", days_ago=99
    )
    assert memory.found("falcon", types=("decision",)) == [str(needle)]


class Failing(Similarity):
    """A backend that is down."""

    weight = STATIC_WEIGHT
    asked = 0

    def __init__(self, *, ready: bool = True) -> None:
        self._ready = ready

    def is_ready(self) -> bool:
        return self._ready

    def cosines(
        self, query: str, project_id: Any, memory_keys: Iterable[int], **how: Any
    ) -> dict[int, float]:
        self.asked += 1
        raise VectorsUnavailable("nobody answers at the address")


def test_without_vectors_the_words_answer_and_it_is_said_why(tmp_path: Path) -> None:
    with house(tmp_path, Failing()) as memory:
        ref = memory.keep("The heron cache")
        found = memory.hits("heron")
        assert [hit.card.ref for hit in found.hits] == [ref]
        assert (found.legs, found.note) == (("text",), "nobody answers at the address")


def test_nothing_is_loaded_while_somebody_waits(tmp_path: Path) -> None:
    near = Failing(ready=False)
    with house(tmp_path, near) as memory:
        memory.keep("The heron cache")
        found = memory.search("heron", Filters(), 5, hurried=True)
        assert (len(found.hits), found.legs, found.note, near.asked) == (1, ("text",), None, 0)


def test_what_only_the_vectors_know_is_found_too(tmp_path: Path) -> None:
    class Close(Failing):
        def cosines(
            self, query: str, project_id: Any, memory_keys: Iterable[int], **how: Any
        ) -> dict[int, float]:
            return {memory_key(1, 1, Ref("observation", 1)): 0.9}

    with house(tmp_path, Close()) as memory:
        ref = memory.keep("The heron cache")
        found = memory.hits("a bird")
        assert ([hit.card.ref for hit in found.hits], found.legs) == ([ref], ("text", "vectors"))


def test_all_that_say_it_come_before_those_only_the_vectors_know(tmp_path: Path) -> None:
    class Close(Failing):
        weight = 0.05

        def cosines(
            self, query: str, project_id: Any, memory_keys: Iterable[int], **how: Any
        ) -> dict[int, float]:
            return {memory_key(1, 1 + n, Ref("observation", 20 + n)): n / 1000 for n in range(1, 151)}

    with house(tmp_path, Close()) as memory:
        told = [memory.keep(f"The heron {n} of {n * n}", session="loud", indexed=False) for n in range(20)]
        for n in range(1, 151):
            memory.keep(f"Number {n}", session=f"stranger {n}", indexed=False)
        found = memory.found("heron", 60)
        assert set(found[:20]) == set(map(str, told))
        assert len(found) == 60


def test_no_query_is_an_error(memory: House) -> None:
    memory.keep("NEAR the end OR not", 'a "quoted" thing (really)')

    @settings(suppress_health_check=[HealthCheck.too_slow])
    @given(st.text() | st.text(alphabet="\"'*^():{}-+\\/ \0\ud800NEAROT,.本語é²Ⅷ", max_size=80))
    @example("\0\ud800\udfff")
    @example('NEAR("a b", 2) AND * OR NOT ^title: {')
    @example("a" * 100_000)
    @example("a/b." * 25_000)
    @example('"' * 100_000)
    def never(query: str) -> None:
        memory.search(query, Filters(project_id=1), 5)
        memory.search(query, Filters(), 5)

    never()
