"""Filters act before anything is cut off: among thousands that say the same, the one asked for is found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from tests.contracts.store_contract import NOON, ORIGIN
from tests.contracts.vectors_contract import vector
from tests.unit.recall.recall_store import DAY, ELSEWHERE, House, copied, house
from tests.unit.vectors.letter_embedder import Letters
from tests.unit.vectors.memories import opened

from claude_mem.api.filters import FilterRequest, Page
from claude_mem.model.memory import Summary
from claude_mem.model.refs import KINDS, Filters, ref_at
from claude_mem.model.structs import replace
from claude_mem.recall.search import Search
from claude_mem.store.base import KeyFilter
from claude_mem.store.relational import text_matcher
from claude_mem.store.relational.memories import BESIDE, Memories
from claude_mem.store.relational.memory_filters import MANY_WRONG, MOST_LISTED
from claude_mem.store.values import TextQuery
from claude_mem.vectors.builtin import Builtin
from claude_mem.vectors.indexer import NEAREST, WIDER, Similarity, VectorIndexer

WEIGHED, FREQUENT = "signin", "login"
"""So many have the first that the last of them are not looked at, and so many the second that it is not
weighed."""
SAID = f"{'much about many other things ' * 20} and {WEIGHED} or {FREQUENT}"
LONG_AGO: dict[str, Any] = {"days_ago": 99}

NEEDLES: dict[str, Callable[[House], object]] = {
    "types": lambda memory: memory.keep("Chosen", SAID, type="decision", session="types", **LONG_AGO),
    "project": lambda memory: memory.keep("Far", SAID, origin=ELSEWHERE, session="project", **LONG_AGO),
    "concepts": lambda memory: memory.keep(
        "A", SAID, concepts=("io", "rare"), session="concepts", **LONG_AGO
    ),
    "file": lambda memory: memory.keep("B", SAID, files_read=("src/only.py",), session="file", **LONG_AGO),
    "branch": lambda memory: memory.keep(
        "C", SAID, origin=replace(ORIGIN, branch="dev"), session="branch", **LONG_AGO
    ),
    "session": lambda memory: memory.keep("D", SAID, session="session", **LONG_AGO),
    "client": lambda memory: memory.keep("E", SAID, client="cursor", session="client", **LONG_AGO),
    "until": lambda memory: memory.keep("F", SAID, session="until", days_ago=400),
    "since": lambda memory: memory.keep("G", SAID, session="since", days_ago=-2),
    "pinned": lambda memory: memory.keep("H", SAID, session="pinned", **LONG_AGO),
    "superseded": lambda memory: memory.keep("I", SAID, session="superseded", **LONG_AGO),
    "wrong": lambda memory: memory.keep("J", SAID, session="wrong", **LONG_AGO),
    "prompt": lambda memory: memory.turn(SAID, session="prompt"),
    "summary": lambda memory: memory.turn(session="summary", summary=Summary(request="K", learned=SAID)),
    "evidence": lambda memory: memory.turn(
        None, memory.tool("Bash", f'{{"command": "{SAID}"}}', session="evidence"), session="evidence"
    ),
}
ASKED: dict[str, dict[str, Any]] = {
    "types": {"types": ("decision",)},
    "concepts": {"concepts": ("rare", "other")},
    "file": {"file": "only.py"},
    "branch": {"equal": {"branch": "dev"}},
    "session": {"session": "session"},
    "client": {"equal": {"client": "cursor"}},
    "until": {"until": NOON - 300 * DAY},
    "since": {"since": NOON + DAY},
    "pinned": {"pinned": True},
    "superseded": {"superseded": True},
    "wrong": {"wrong": True},
    "prompt": {"kinds": ("prompt",)},
    "summary": {"kinds": ("summary",)},
    "evidence": {"kinds": ("evidence",)},
}


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Of each kind of needle one, and then thousands that match better and are newer."""
    with house(tmp_path_factory.mktemp("crowd")) as memory:
        for needle in NEEDLES.values():
            needle(memory)
        mark(memory, "pinned = 1", "pinned")
        mark(memory, "superseded_by = 1", "superseded")
        mark(memory, "wrong = 1", "wrong")
        both = memory.keep(f"{FREQUENT} {WEIGHED} {WEIGHED}", session="crowd", indexed=False)
        copied(memory, both, 3_100, 650)
        copied(memory, memory.keep(f"{FREQUENT} {FREQUENT}", session="crowd of others", indexed=False), 2_000)
        memory.indexing.catch_up()
        yield memory


def mark(memory: House, change: str, session: str) -> None:
    memory.store.writer.run(
        lambda db: (
            db.execute(
                f"UPDATE observations SET {change} WHERE session_id IN"
                " (SELECT id FROM sdk_sessions WHERE claude_session_id LIKE ?)",
                (f"{session}%",),
            ).rowcount
        )
    )


def sessions(memory: House, query: str, **filters: Any) -> list[str]:
    """Of the hits; copies of one are told alike."""
    return [hit.card.session.partition("-")[0] for hit in memory.search(query, Filters(**filters), 20).hits]


@pytest.mark.parametrize("project_id", [None, 1], ids=["everywhere", "in_the_project"])
@pytest.mark.parametrize("query", [WEIGHED, FREQUENT])
@pytest.mark.parametrize("name", ASKED)
def test_a_filtered_search_finds_the_one_among_thousands(
    crowd: House, name: str, query: str, project_id: int | None
) -> None:
    assert sessions(crowd, query, **ASKED[name], project_id=project_id) == [name]


@pytest.mark.parametrize("query", [WEIGHED, FREQUENT])
def test_another_projects_thousands_hide_nothing(crowd: House, query: str) -> None:
    assert sessions(crowd, query, project_id=crowd.project(ELSEWHERE).id) == ["project"]


def test_several_filters_act_together(crowd: House) -> None:
    asked = ASKED["types"] | {"equal": {"branch": "main"}, "until": NOON}
    assert sessions(crowd, FREQUENT, **asked) == ["types"]
    assert sessions(crowd, FREQUENT, **asked | {"equal": {"branch": "dev"}}) == []


def test_a_rare_word_beside_does_not_hide_what_only_has_the_frequent_one(crowd: House) -> None:
    """`chosen` is the title of the decision; of the pinned one the query has the frequent word alone."""
    assert sessions(crowd, f"chosen {FREQUENT}", pinned=True) == ["pinned"]


@pytest.mark.parametrize("query", [WEIGHED, FREQUENT])
def test_a_filter_that_thousands_pass_gives_those_and_no_others(crowd: House, query: str) -> None:
    found = sessions(crowd, query, since=NOON - DAY, until=NOON + DAY, equal={"branch": "main"})
    assert len(found) == 20
    assert all(session.startswith("crowd") for session in found)
    long_ago = NEEDLES.keys() - {"since", "wrong", "prompt", "summary", "evidence"}
    assert set(sessions(crowd, query, until=NOON - DAY, kinds=("observation",))) == long_ago


def test_the_desk_filters_a_search_by_what_is_pinned(crowd: House) -> None:
    found = crowd.reading.search(FREQUENT, FilterRequest(pinned=True), Page())
    assert [result.session_id for result in found.results] == ["pinned"]
    assert not found.has_more


@pytest.mark.parametrize(
    ("change", "filters"), [("superseded_by = 1", {"superseded": False}), ("wrong = 1", {})], ids=str
)
def test_what_stands_is_found_among_thousands_that_do_not(
    memory: House, change: str, filters: dict[str, Any]
) -> None:
    memory.keep("Needle", SAID, session="needle", **LONG_AGO)
    copied(memory, memory.keep(f"{WEIGHED} {WEIGHED}", session="crowd", indexed=False), 3_100, 650)
    memory.indexing.catch_up()
    mark(memory, change, "crowd")
    assert sessions(memory, WEIGHED, **filters) == ["needle"]


def test_more_that_pass_than_are_looked_up_at_once_are_found_all_the_same(memory: House) -> None:
    """The filter leaves more than are listed at once, and the thousands it leaves out match better."""
    copied(memory, memory.keep(f"{SAID} once", session="old", indexed=False, days_ago=50), MOST_LISTED + 10)
    copied(memory, memory.keep(f"{FREQUENT} {FREQUENT}", session="new", indexed=False), 3_100)
    memory.indexing.catch_up()
    assert sessions(memory, FREQUENT, until=NOON - DAY) == ["old"] * 20
    assert sessions(memory, f"once {FREQUENT}", since=NOON - DAY) == ["new"] * 20


@pytest.fixture(scope="module")
def frequent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A word that too many have to be weighed; some that have a rarer one have it too, and are older."""
    with house(tmp_path_factory.mktemp("frequent")) as memory:
        for number in range(12):
            memory.keep(f"Both {number}", f"seldom {FREQUENT}", session=f"both{number}", **LONG_AGO)
            memory.keep(f"Rare {number}", "seldom met with", session=f"rare{number}")
        copied(memory, memory.keep(f"{FREQUENT} here", session="crowd", indexed=False), 5_100, 100)
        memory.indexing.catch_up()
        yield memory


@pytest.mark.parametrize(
    "filters", [{"equal": {"branch": "main"}}, {"since": NOON - 999 * DAY}, {"kinds": KINDS}]
)
def test_a_filter_that_everything_passes_changes_no_ranking(frequent: House, filters: dict[str, Any]) -> None:
    def ranked(**filters: Any) -> list[tuple[object, float]]:
        hits = frequent.search(f"seldom {FREQUENT}", Filters(project_id=1, **filters), 20).hits
        return [(hit.card.ref, hit.score) for hit in hits]

    assert ranked(**filters) == ranked()
    assert len(ranked()) == 20


class Asked:
    """A filter that notes which memories it is asked about."""

    def __init__(self, behind: KeyFilter) -> None:
        self._behind, self.listed = behind, behind.listed
        self.memory_keys: set[int] = set()

    def __call__(self, memory_keys: Iterable[int]) -> set[int]:
        some = set(memory_keys)
        self.memory_keys |= some
        return self._behind(some)


def test_a_filter_that_many_pass_is_asked_about_the_matches_of_rare_words_alone(frequent: House) -> None:
    behind = frequent.library.key_filter(Filters(project_id=1, equal={"branch": "main"}))
    assert behind is not None
    key_filter = Asked(behind)
    frequent.library.match(TextQuery(("seldom", FREQUENT)), 1, cast(KeyFilter, key_filter))
    assert len(key_filter.memory_keys) == 24, "those that say seldom"


def test_words_that_take_too_long_to_walk_over_are_left_out(
    frequent: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def words(most: int, **filters: Any) -> list[str]:
        monkeypatch.setattr(text_matcher, "MOST_WALKED", most)
        key_filter = frequent.library.key_filter(Filters(project_id=1, **filters))
        found = frequent.library.match(TextQuery(("seldom", FREQUENT)), 1, key_filter)
        return [each.word for each in found.matched]

    assert words(6_000) == words(6_000, equal={"branch": "main"}) == ["seldom", FREQUENT]
    assert words(5_000) == words(5_000, equal={"branch": "main"}) == ["seldom"]
    assert words(5_000, session="both3") == ["seldom", FREQUENT], "a few are looked up one by one"
    assert words(100, session="both3") == ["seldom"]


def test_frequent_words_are_looked_for_among_the_few_that_pass(frequent: House) -> None:
    behind = frequent.library.key_filter(Filters(project_id=1, session="both3"))
    assert behind is not None
    key_filter = Asked(behind)
    found = frequent.library.match(TextQuery(("here", FREQUENT)), 1, cast(KeyFilter, key_filter))
    few = set(behind.listed or ())
    assert {key for each in found.matched for key in each.scores} == few
    assert key_filter.memory_keys == few, "and nobody asks whether the thousands pass"


def test_a_few_wrong_ones_are_left_out_of_a_search_without_filters(memory: House) -> None:
    memory.keep(f"{WEIGHED} right", session="right")
    copied(memory, memory.keep(f"{WEIGHED} {WEIGHED}", session="wrong", indexed=False), MANY_WRONG - 10)
    memory.indexing.catch_up()
    mark(memory, "wrong = 1", "wrong")
    assert memory.library.key_filter(Filters(project_id=1, wrong=False)) is None, "nothing more is looked up"
    assert sessions(memory, WEIGHED) == ["right"]


def test_the_vectors_leave_out_what_does_not_pass_before_they_cut_off(tmp_path: Path) -> None:
    """Hundreds are nearer to the question than the one decision, which has no word of it."""
    with house(tmp_path) as memory:
        memory.keep("Zz", "zzz b", type="decision", session="needle", **LONG_AGO)
        copied(memory, memory.keep("Aaab", "aaa", session="crowd", indexed=False), 2 * NEAREST)
        memory.indexing.catch_up()
        embedder = Letters()
        embedder.weight = 5.0  # enough to speak without a word
        keeper = Builtin(memory.store.vectors)
        embedding = VectorIndexer(memory.store.embeddings, keeper, embedder)
        while embedding.step(0):
            pass
        search = Search(memory.library, memory.clock, Similarity(embedder, keeper), memory.staleness)

        def near(**filters: Any) -> list[str]:
            hits = search("bbaaa", Filters(**filters), 20).hits
            return [hit.card.session.partition("-")[0] for hit in hits]

        assert near(types=("decision",)) == near(until=NOON - DAY) == ["needle"]
        assert near() == ["crowd"] * 20


def test_the_vectors_look_further_until_enough_of_many_pass(tmp_path: Path) -> None:
    class Many:
        """More than can be listed pass: those with an odd memory_key, which are the farthest."""

        listed = None

        def __call__(self, memory_keys: Iterable[int]) -> set[int]:
            return {memory_key for memory_key in memory_keys if memory_key % 2}

    key_filter = cast(KeyFilter, Many())
    with opened(tmp_path) as memories:
        keeper = Builtin(memories.table)
        memory_keys = memories.learn(*(f"title {number}" for number in range(120)))
        keeper.put({memory_key: vector(1, 1 if memory_key % 2 else 0) for memory_key in memory_keys})
        found = Similarity(Letters(), keeper, nearest=10).cosines("a", None, [], key_filter=key_filter)
        assert len(found) == 10
        assert all(memory_key % 2 for memory_key in found)
        everything = Similarity(Letters(), keeper, nearest=1000).cosines("a", None, [], key_filter=key_filter)
        assert len(everything) == 60


def test_the_vectors_look_further_once_and_then_leave_it(tmp_path: Path) -> None:
    asked: list[int] = []

    class NoneOfMany:
        listed = None

        def __call__(self, memory_keys: Iterable[int]) -> set[int]:
            asked.append(len(list(memory_keys)))
            return set()

    with opened(tmp_path) as memories:
        keeper = Builtin(memories.table)
        keeper.put({key: vector(1, 1) for key in memories.learn(*(f"title {n}" for n in range(150)))})
        key_filter = cast(KeyFilter, NoneOfMany())
        assert Similarity(Letters(), keeper, nearest=2).cosines("a", None, [], key_filter=key_filter) == {}
    assert asked == [2 * WIDER, 2 * WIDER**2]


def test_a_path_leads_to_what_passes_however_much_else_was_done_there(memory: House) -> None:
    asked: dict[str, Any] = {"files_modified": ("src/shop/till.py",)}
    needle = memory.keep("One", type="decision", session="needle", days_ago=99, **asked)
    copied(memory, memory.keep("Other", session="crowd", indexed=False, **asked), BESIDE + 10)
    memory.indexing.catch_up()
    decisions = Filters(project_id=1, types=("decision",))
    touched = memory.library.keys_of_file("shop/till.py", decisions, 5)
    beside = memory.library.in_folder("src/shop", 1, memory.library.key_filter(decisions))
    assert [(ref_at(key), how) for key, how in touched] == [(needle, "modified")]
    assert [(ref_at(key), path) for key, path in beside] == [(needle, "src/shop/till.py")]


class Counting(Memories):
    """Counts the questions about files."""

    touched_times = beside_times = 0

    def keys_of_file(self, path: str, filters: Filters, limit: int) -> list[tuple[int, str]]:
        self.touched_times += 1
        return super().keys_of_file(path, filters, limit)

    def in_folder(
        self, folder: str, project_id: int | None, key_filter: KeyFilter | None = None, *, limit: int = BESIDE
    ) -> list[tuple[int, str]]:
        self.beside_times += 1
        return super().in_folder(folder, project_id, key_filter, limit=limit)


def test_a_filtered_search_asks_once_about_a_file_of_which_little_is_known(memory: House) -> None:
    memory.keep("One", type="decision", files_modified=("src/shop/till.py",))
    library = Counting(memory.store.readers, memory.store.writer, memory.clock)
    search = Search(library, memory.clock, None, memory.staleness)
    found = search("src/shop/till.py", Filters(project_id=1, types=("decision",)), 5)
    assert [hit.card.title for hit in found.hits] == ["One"]
    assert (library.touched_times, library.beside_times) == (1, 2)  # the file; src/shop and src


def test_a_files_history_is_narrowed_before_it_is_cut_off(memory: House) -> None:
    asked: dict[str, Any] = {"files_modified": ("src/till.py",)}
    memory.keep("The till rounds up", type="decision", session="needle", days_ago=99, **asked)
    copied(memory, memory.keep("Mended the till", session="crowd", indexed=False, **asked), 300)
    history = memory.reading.file_history("src/till.py", FilterRequest(types=("decision",)))
    assert [result.session_id for result in history.results] == ["needle"]


def test_what_was_understood_of_a_file_is_not_hidden_by_how_often_it_was_read(memory: House) -> None:
    memory.keep("The till rounds up", files_modified=("src/till.py",), session="needle", days_ago=99)
    reads = [
        memory.tool("Read", '{"file_path": "/home/a/shop/src/till.py"}', use_id=f"t{number}", session="reads")
        for number in range(250)
    ]
    memory.turn(None, *reads, session="reads")
    history = memory.reading.file_history("src/till.py", FilterRequest())
    assert [result.session_id for result in history.results] == ["needle"]
