"""The same corpus gives the same ranking on every store: the same memories, in the same order."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from tests.contracts.store_contract import NOON, ORIGIN, Events, SettableClock, catch_up, new_events
from tests.contracts.stores import MARKS, STORES

from claude_mem.model.events import Kind, ToolCall
from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Filters, Ref, ref_at
from claude_mem.model.structs import replace
from claude_mem.recall.search import Search
from claude_mem.store.base import Store
from claude_mem.store.values import TextMatches, TextQuery
from claude_mem.vectors.builtin import Builtin
from claude_mem.vectors.embedders import WordLlama
from claude_mem.vectors.indexer import Similarity, VectorIndexer

pytestmark = pytest.mark.prove

PROJECTS = [ORIGIN, *(replace(ORIGIN, key=f"github.com/a/{name}", name=name) for name in ("mill", "blog"))]
TURNS = 90
_WRITTEN = """
the store worker token session parse parser parsing parsed queue lease retry backoff migrate migration
schema index café naïve Straße 検索 東京都 한국어 parseUser ParseUserToken user_id HTTPServer2 v2.1.0
src/auth/login.py src/auth/token.py tests/test_login.py --dry-run 0x1F e-mail don't README.md
"""
WORDS = _WRITTEN.split()
QUERIES = [
    "parser",
    "parsing the user token",
    "parseUser",
    '"lease retry"',
    "src/auth/login.py",
    "login.py fails with a backoff",
    "migrat",
    "検索",
    "東",
    "cafe naive strasse",
    "the store",
    "HTTPServer2 v2.1.0",
    "user_id --dry-run 0x1F",
    "nothing of this kind zzzz",
    "queue lease retry backoff migrate schema index session worker",
    "how is somebody logged in",
    "work that waits is tried again",
]


FILTERS = {
    "all": Filters(),
    "project": Filters(1),
    "kind": Filters(2, kinds=("observation",)),
    "type": Filters(types=("bugfix",)),
    "session": Filters(session="s3"),
    "folder": Filters(1, file="src/auth/"),
    "time": Filters(since=NOON + 30 * 60_000),
}


def fill(store: Store) -> None:
    """Some words are everywhere and some are rare, as in any text."""
    chance, events = random.Random(19), Events()

    def some(most: int) -> str:
        count = chance.randint(1, most)
        return " ".join(WORDS[int(len(WORDS) * chance.random() ** 2)] for _ in range(count))

    for turn in range(TURNS):
        session, origin = f"s{turn % 17}", PROJECTS[turn % 17 % len(PROJECTS)]
        at = NOON + turn * 60_000
        path = chance.choice(("src/auth/login.py", "src/auth/token.py", "docs/store.md"))
        call = ToolCall(
            "Edit", f'{{"file_path": "{origin.root}/{path}", "new_string": "{some(30)}"}}', some(60)
        )
        store.events.accept(
            new_events(
                events.prompt(f"{some(12)} {turn}", session, at=at),
                events.tool(session, tool=replace(call, use_id=f"u{turn}"), at=at + 1),
                events.make(Kind.STOP, session, text=some(40), at=at + 2),
                origin=origin,
            )
        )
        lease = store.queue.lease(10)
        assert lease is not None
        observations = tuple(
            Observation(
                chance.choice(("change", "bugfix", "discovery")),
                title=f"{some(6)} {turn}-{number}",
                narrative=some(50),
                facts=(some(8), some(8)),
                concepts=tuple({some(1), some(1)}),
                files_modified=(path,),
            )
            for number in range(3)
        )
        summary = Summary(request=f"{some(8)} {turn}", learned=some(20), completed=some(20))
        store.queue.settle(lease, Findings(observations, (summary,)))
    catch_up(store)


BASE = "sqlite"
"""What the others are compared with."""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with filled(tmp_path_factory, BASE) as store:
        yield store


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=MARKS[name]) for name in STORES if name != BASE],
)
def other(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with filled(tmp_path_factory, request.param) as store:
        yield store


@contextmanager
def filled(folders: pytest.TempPathFactory, name: str) -> Iterator[Store]:
    with STORES[name](folders.mktemp(name), SettableClock(NOON + 10**8)) as store:
        fill(store)
        yield store


def ranking(
    store: Store, query: str, filters: Filters, near: Similarity | None = None
) -> list[tuple[Ref, float]]:
    search = Search(store.memories, SettableClock(NOON + 10**8), near, lambda _card: ())
    return [(hit.card.ref, round(hit.score, 9)) for hit in search(query, filters, 50).hits]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
def test_a_query_ranks_the_same_memories_in_the_same_order(
    base: Store, other: Store, query: str, filters: Filters
) -> None:
    assert ranking(other, query, filters) == ranking(base, query, filters)


@pytest.mark.parametrize("most_rows", [5_000, 120, 20])
@pytest.mark.parametrize("project", [None, 1, 3])
def test_every_word_weighs_the_same_whatever_the_bound(
    base: Store, other: Store, project: int | None, most_rows: int, subtests: pytest.Subtests
) -> None:
    """Few rows: words too frequent to be weighed are looked up among the matches of rarer ones."""
    phrases = ("parse User", "src auth login py", "the the", "lease retry backoff")
    for word in WORDS:
        words = tuple(
            word.lower().replace("/", " ").replace("-", " ").replace("_", " ").replace(".", " ").split()
        )
        with subtests.test(word):
            query = TextQuery((*words, "store"), phrases, most_rows)
            assert matched(other.memories.match(query, project)) == matched(
                base.memories.match(query, project)
            )


Matched = dict[tuple[str, bool], tuple[dict[Ref, float], dict[Ref, float], int | None]]


def matched(found: TextMatches) -> tuple[int, int, dict[int, int], Matched]:
    def rounded(scores: dict[int, float]) -> dict[Ref, float]:
        return {ref_at(key): round(score, 9) for key, score in scores.items()}

    by_word = {
        (each.word, each.is_phrase): (rounded(each.scores), rounded(each.prose), each.rows)
        for each in found.matched
    }
    return found.sizes.total, found.sizes.prose, dict(found.sizes.sessions), by_word


@pytest.fixture(scope="module")
def near() -> Callable[[Store], Similarity]:
    """Of a store, once all its memories have vectors."""
    embedder = WordLlama()

    def embedded(store: Store) -> Similarity:
        vectors = Builtin(store.vectors)
        indexer = VectorIndexer(store.embeddings, vectors, embedder)
        while indexer.step(NOON):
            pass
        assert indexer.trouble is None
        assert indexer.waiting() == 0
        return Similarity(embedder, vectors)

    return embedded


ALIKE = 1e-5
"""In single precision a sum differs with its order, in the seventh digit of a cosine."""


@pytest.mark.parametrize("filters", FILTERS.values(), ids=FILTERS)
def test_with_vectors_a_query_ranks_the_same_wherever_they_are_compared(
    base: Store, other: Store, near: Callable[[Store], Similarity], filters: Filters
) -> None:
    """Each in its process, or by pgvector: what half precision rounds chooses, and does not score."""
    ours, theirs = near(base), near(other)
    for query in QUERIES:
        expected, found = (
            ranking(store, query, filters, each) for store, each in ((base, ours), (other, theirs))
        )
        assert [score for _, score in found] == pytest.approx([score for _, score in expected], abs=ALIKE)
        # In the same order, but for those that score alike; of those, which come last may differ.
        last = expected[-1][1] if expected else 0.0
        known = dict(expected)
        assert [score for _, score in found] == pytest.approx(
            [known.get(ref, last) for ref, _ in found], abs=ALIKE
        )


@pytest.mark.parametrize("project", [None, 1, 3])
@pytest.mark.parametrize("limit", [5, 40, 200])
def test_the_same_memories_are_nearest_wherever_they_are_compared(
    base: Store, other: Store, near: Callable[[Store], Similarity], project: int | None, limit: int
) -> None:
    embedder = WordLlama()
    near(base), near(other)
    for query in QUERIES:
        vector = embedder.embed_query(query, 1.0)
        expected, found = (
            {ref_at(key): cosine for key, cosine in Builtin(store.vectors).nearest(vector, project, limit)}
            for store in (base, other)
        )
        assert found == pytest.approx(expected, abs=1e-6)


def test_postgresql_compares_where_it_has_pgvector(other: Store) -> None:
    if (other.vectors.pgvector() or "")[0].isdigit():
        assert other.vectors.nearest([1.0], None, 1) is not None


def test_the_corpus_is_found_at_all(base: Store, other: Store) -> None:
    assert all(len(ranking(base, query, Filters())) > 5 for query in QUERIES[:6])
    assert other.memories.last_ids() == base.memories.last_ids()
