"""How memories relate in the database: seen again, superseded, paid for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.contracts.store_contract import HOUR, NOON, ORIGIN, Events, SettableClock, new_events

from claude_mem.model.events import Origin
from claude_mem.model.jobs import CallCost
from claude_mem.model.memory import Findings, Observation, content_key
from claude_mem.model.refs import Card, Filters, Ref, is_of_file, memory_key
from claude_mem.model.structs import replace
from claude_mem.store.relational import cards
from claude_mem.store.relational import memories as library_module
from claude_mem.store.relational.memories import Memories
from claude_mem.store.relational.observations import SAME_WITHIN_MS
from claude_mem.store.sqlite import SqliteStore
from claude_mem.store.sqlite.vector_index import EmbeddingProgress, VectorTable
from claude_mem.store.values import TextQuery

Peek = Callable[[str], list[tuple[Any, ...]]]

OLD = Observation(
    "decision", title="Session timeout is 30 minutes", narrative="Half an hour.", files_modified=("keys.py",)
)
NEW = replace(OLD, title="Session timeout is 60 minutes", narrative="People read slowly.")
NAMESAKE = replace(ORIGIN, key="github.com/b/shop", root="/home/a/other/shop")
CHAIN = "SELECT title, supersedes, superseded_by FROM observations ORDER BY id"


@pytest.fixture
def store(open_store: Callable[[], SqliteStore]) -> Iterator[SqliteStore]:
    with open_store() as store:
        yield store


@pytest.fixture
def settle(store: SqliteStore, events: Events) -> Callable[..., None]:
    """One tool use of a session, and what it taught."""

    def one(*observations: Observation, session: str = "s1", origin: Origin = ORIGIN, **fields: Any) -> None:
        store.events.accept(new_events(events.tool(session, **fields), origin=origin))
        lease = store.queue.lease(1)
        assert lease is not None
        store.queue.settle(lease, Findings(observations), provider="anthropic:claude-haiku-4-5")

    return one


def test_an_observation_knows_its_content_and_its_author(settle: Callable[..., None], peek: Peek) -> None:
    settle(OLD)
    assert peek("SELECT content_key, provider FROM observations") == [
        (content_key(OLD), "anthropic:claude-haiku-4-5")
    ]


def test_what_is_seen_again_leaves_a_sighting(settle: Callable[..., None], peek: Peek) -> None:
    settle(OLD)
    settle(OLD, session="s2", at=NOON + HOUR, prompt_number=4)
    assert peek("SELECT COUNT(*) FROM observations") == [(1,)]
    assert peek(
        "SELECT observation_id, session_id, prompt_number, created_at, created_at_epoch "
        "FROM observation_sightings"
    ) == [(1, 2, 4, "2025-10-09T09:53:20.000Z", NOON + HOUR)]


FIRST = "SELECT id, session_id, created_at_epoch, prompt_number FROM observations"
SEEN = "SELECT observation_id, session_id, created_at_epoch, prompt_number FROM observation_sightings"


def test_whoever_is_told_first_an_observation_is_theirs_who_made_it_first(
    settle: Callable[..., None], peek: Peek
) -> None:
    settle(OLD, session="newer", at=NOON + HOUR, prompt_number=4)
    settle(OLD, session="older", at=NOON, prompt_number=2)
    settle(OLD, session="between", at=NOON + 1, prompt_number=3)
    assert peek(FIRST) == [(1, 2, NOON, 2)]
    assert peek(SEEN) == [(1, 1, NOON + HOUR, 4), (1, 3, NOON + 1, 3)]


def test_the_same_words_long_before_were_news_then(settle: Callable[..., None], peek: Peek) -> None:
    settle(OLD, session="newer", at=NOON)
    settle(OLD, session="older", at=NOON - SAME_WITHIN_MS - 1)
    assert peek(FIRST) == [(1, 1, NOON, 0), (2, 2, NOON - SAME_WITHIN_MS - 1, 0)]
    assert peek(SEEN) == []


def test_what_stands_in_anothers_place_stays_where_it_is(settle: Callable[..., None], peek: Peek) -> None:
    settle(OLD, at=NOON + HOUR)
    settle(NEW, session="newer", at=NOON + 2 * HOUR)
    settle(NEW, session="older", at=NOON)
    assert peek(CHAIN) == [(OLD.title, None, 2), (NEW.title, 1, None)]
    assert peek(FIRST)[1][1:3] == (2, NOON + 2 * HOUR)
    assert [(row[1], row[2]) for row in peek(SEEN)] == [(3, NOON)]


def test_the_indexes_go_with_what_is_another_sessions_now(
    store: SqliteStore, settle: Callable[..., None]
) -> None:
    index, embedding = store.text_index, store.embeddings
    vectors = store.vectors
    stamp = embedding.begin("builtin test")
    settle(OLD, session="newer", at=NOON + HOUR)
    index.catch_up()
    _embed(embedding, vectors)
    settle(OLD, session="older", at=NOON)
    index.catch_up()
    here = memory_key(1, 2, Ref("observation", 1))
    library = store.memories
    assert [each.card.session for each in library.of_file("keys.py", Filters(1), 10)] == ["older"]
    found = library.match(TextQuery(("timeout",), ()), None).matched
    assert [list(each.scores) for each in found] == [[here]]
    assert [key for rows in vectors.newest(None, 10, 10) for key, _ in rows] == [here]
    made = embedding.made()
    assert made is not None
    assert made[1] != stamp, "whoever holds them reads them again"


def test_a_vector_that_is_being_made_meanwhile_is_made_once_more(
    store: SqliteStore, settle: Callable[..., None]
) -> None:
    embedding = store.embeddings
    vectors = store.vectors
    embedding.begin("builtin test")
    settle(OLD, session="newer", at=NOON + HOUR)
    batch = embedding.unembedded(100)
    assert batch is not None
    settle(OLD, session="older", at=NOON)
    vectors.put({key: text.encode() for key, text in batch.texts})
    embedding.embedded(batch.marks, batch.settled)
    _embed(embedding, vectors)
    keys = [key for rows in vectors.newest(None, 10, 10) for key, _ in rows]
    assert keys == [memory_key(1, 2, Ref("observation", 1))]


def test_a_backend_elsewhere_forgets_it_there_and_makes_it_here(
    store: SqliteStore, settle: Callable[..., None]
) -> None:
    embedding = store.embeddings
    embedding.begin("chroma test")
    settle(OLD, session="newer", at=NOON + HOUR)
    _embed(embedding, None)
    settle(OLD, session="older", at=NOON)
    note, batch = embedding.forgotten(), embedding.unembedded(100)
    assert note is not None
    assert note[1] == [memory_key(1, 1, Ref("observation", 1))]
    assert batch is not None
    assert [key for key, _ in batch.texts] == [memory_key(1, 2, Ref("observation", 1))]


def _embed(embedding: EmbeddingProgress, vectors: VectorTable | None) -> None:
    while (batch := embedding.unembedded(100)) is not None:
        if vectors:
            vectors.put({key: text.encode() for key, text in batch.texts})
        embedding.embedded(batch.marks, batch.settled)


def test_two_that_say_nothing_are_not_the_same(settle: Callable[..., None], peek: Peek) -> None:
    settle(Observation("change", subtitle="a"), Observation("change", subtitle="b"))
    assert peek("SELECT subtitle, content_key FROM observations") == [("a", None), ("b", None)]


def test_a_newer_one_supersedes_an_older_of_any_session_of_the_project(
    settle: Callable[..., None], peek: Peek
) -> None:
    settle(OLD)
    settle(replace(OLD, title="Cart holds 30 items at most"))
    settle(NEW, session="s2")
    assert peek(CHAIN) == [
        (OLD.title, None, 3),
        ("Cart holds 30 items at most", None, None),
        (NEW.title, 1, None),
    ]


def test_another_projects_observations_stand_even_of_the_same_name(
    settle: Callable[..., None], peek: Peek
) -> None:
    settle(OLD)
    settle(NEW, session="s2", origin=NAMESAKE)
    assert peek(CHAIN) == [(OLD.title, None, None), (NEW.title, None, None)]
    assert peek("SELECT project, project_id FROM observations") == [("shop", 1), ("shop", 2)]


def test_another_projects_words_are_not_seen_again_even_of_the_same_name(
    settle: Callable[..., None], peek: Peek
) -> None:
    settle(OLD)
    settle(OLD, session="s2", origin=NAMESAKE)
    settle(OLD, session="s3", origin=NAMESAKE)
    assert peek(CHAIN) == [(OLD.title, None, None), (OLD.title, None, None)]
    assert peek("SELECT observation_id FROM observation_sightings") == [(2,)]


def test_a_clone_of_another_name_remembers_with_its_repository(
    settle: Callable[..., None], peek: Peek
) -> None:
    settle(OLD)
    settle(NEW, session="s2", origin=replace(ORIGIN, name="shop-two", root="/home/a/shop-two"))
    settle(NEW, session="s3", project="as a caller calls it")
    assert peek(CHAIN) == [(OLD.title, None, 2), (NEW.title, 1, None)]


def test_where_no_place_is_known_the_name_a_caller_gives_is_the_project(
    settle: Callable[..., None], peek: Peek
) -> None:
    nowhere = Origin(key="unknown", name="unknown", root="")
    for session, project in (("s1", "bank"), ("s2", "shop"), ("s3", "bank")):
        settle(OLD, session=session, origin=nowhere, project=project)
    assert peek("SELECT session_id FROM observations") == [(1,), (2,)]
    assert peek("SELECT observation_id, session_id FROM observation_sightings") == [(1, 3)]
    assert peek("SELECT key, name FROM projects") == [("name:bank", "bank"), ("name:shop", "shop")]


def test_what_one_reply_did_to_two_files_is_two_observations(settle: Callable[..., None], peek: Peek) -> None:
    tests = Observation("change", title="Tests added", files_modified=("a.py",))
    settle(tests, replace(tests, files_modified=("b.py",)))
    assert peek("SELECT files_modified FROM observations") == [('["a.py"]',), ('["b.py"]',)]


def test_only_the_latest_state_stands_and_each_knows_its_neighbours(
    settle: Callable[..., None], peek: Peek
) -> None:
    newest = replace(OLD, title="Session timeout is 90 minutes")
    for one in (OLD, NEW, newest):
        settle(one)
    assert peek(CHAIN) == [(OLD.title, None, 2), (NEW.title, 1, 3), (newest.title, 2, None)]


def test_what_was_superseded_and_is_true_again_is_stored_again(
    settle: Callable[..., None], peek: Peek
) -> None:
    for one in (OLD, NEW, OLD):
        settle(one)
    assert peek(CHAIN) == [(OLD.title, None, 2), (NEW.title, 1, 3), (OLD.title, 2, None)]
    assert peek("SELECT COUNT(*) FROM observation_sightings") == [(0,)]


def test_work_that_is_settled_late_does_not_supersede_what_came_after_it(
    settle: Callable[..., None], peek: Peek
) -> None:
    settle(NEW, at=NOON + HOUR)
    settle(OLD, session="s2", at=NOON)
    assert peek(CHAIN) == [(NEW.title, None, None), (OLD.title, None, None)]


def test_what_one_reply_tells_side_by_side_does_not_supersede_itself(
    settle: Callable[..., None], peek: Peek
) -> None:
    settle(OLD, NEW)
    assert peek(CHAIN) == [(OLD.title, None, None), (NEW.title, None, None)]


def test_one_older_observation_is_superseded_once(settle: Callable[..., None], peek: Peek) -> None:
    settle(OLD)
    also = replace(NEW, title="Session timeout is 45 minutes")
    settle(NEW, also)
    assert peek(CHAIN) == [(OLD.title, None, 2), (NEW.title, 1, None), (also.title, None, None)]


def test_what_is_superseded_already_is_not_superseded_again(settle: Callable[..., None], peek: Peek) -> None:
    settle(replace(OLD, files_modified=("keys.py", "cart.py")))
    settle(NEW)
    settle(replace(NEW, narrative="In the cart.", files_modified=("cart.py",)))
    assert peek(CHAIN) == [(OLD.title, None, 2), (NEW.title, 1, None), (NEW.title, None, None)]


def test_forgetting_the_newer_one_lets_the_older_stand_again(
    store: SqliteStore, settle: Callable[..., None], peek: Peek
) -> None:
    settle(OLD)
    settle(NEW, session="s2")
    settle(NEW, session="s3")
    store.writer.run(lambda db: db.execute("DELETE FROM sdk_sessions WHERE id = 2").rowcount)
    assert peek(CHAIN) == [(OLD.title, None, None)]
    assert peek("SELECT COUNT(*) FROM observation_sightings") == [(0,)]


def test_the_money_is_gone_when_its_session_is_forgotten(
    store: SqliteStore, events: Events, peek: Peek
) -> None:
    store.events.accept(new_events(events.tool()))
    lease = store.queue.lease(1)
    assert lease is not None
    store.queue.settle(lease, Findings(), CallCost("openai", "m", 5, 6, 7))
    store.writer.run(lambda db: db.execute("DELETE FROM sdk_sessions").rowcount)
    assert peek("SELECT * FROM spending") == [
        (1, None, "shop", "openai", "m", 5, 6, 7, None, "2025-10-09T08:53:20.000Z", NOON)
    ]
    assert store.queue.spent(1, NOON).daily_tokens == 18


def test_text_that_is_no_longer_utf8_costs_a_letter_and_not_the_queue(
    store: SqliteStore, events: Events
) -> None:
    """As a flipped bit leaves it."""
    store.events.accept(new_events(events.tool(text="words")))
    store.writer.run(
        lambda db: db.execute("UPDATE pending_messages SET text = CAST(x'776FFF6473' AS TEXT)").rowcount
    )
    lease = store.queue.lease(1)
    assert lease is not None
    assert lease.jobs[0].event.text == "wo\ufffdds"


# What SQLite's library must not do, however large the store.


@pytest.fixture
def library(open_store: Callable[[], SqliteStore], clock: SettableClock) -> Iterator[Memories]:
    with open_store() as store:
        keeping = store
        for number in range(60):
            seen = Observation(
                "change", f"thing {number}", files_modified=(f"src/dir_{number % 2}/__init__.py",)
            )
            keeping.memories.remember(seen, ORIGIN, session=f"s{number}", at=NOON + number)
        store.text_index.catch_up()
        yield store.memories


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The observations whose rows were made into cards."""
    read: list[int] = []
    made = cards._MAKE["observation"]

    def counted(row: dict[str, Any]) -> Card:
        read.append(row["id"])
        return made(row)

    monkeypatch.setitem(cards._MAKE, "observation", counted)
    return read


def test_a_page_far_down_reads_the_rows_of_that_page_alone(library: Memories, read: list[int]) -> None:
    found = library.list_cards(Filters(), limit=5, offset=50)
    assert [card.title for card in found] == [f"thing {number}" for number in (9, 8, 7, 6, 5)]
    assert len(read) == 5


def test_of_a_file_that_everybody_has_only_the_cards_asked_for_are_made(
    library: Memories, read: list[int]
) -> None:
    found = library.of_file("__init__.py", Filters(1), 3)
    assert [each.card.title for each in found] == ["thing 59", "thing 58", "thing 57"]
    assert len(read) == 3


def test_files_of_other_folders_do_not_hide_the_one_asked_for(
    library: Memories, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library_module, "OF_FILE", 1)
    (found,) = library.of_file("dir_0/__init__.py", Filters(1), 3)
    assert found.card.title == "thing 58", "the newest is of the other folder"


def test_files_of_one_name_are_told_apart_by_their_folders(library: Memories) -> None:
    assert len(library.of_file("__init__.py", Filters(), 100)) == 60
    assert len(library.of_file("dir_1/__init__.py", Filters(), 100)) == 30
    assert len(library.in_folder("src/dir_1", 1)) == 30
    assert library.in_folder("src/dir%1", 1) == []


def test_a_search_without_filters_asks_nothing_about_what_is_marked_wrong(
    open_store: Callable[[], SqliteStore],
) -> None:
    with open_store() as store:
        store.readers.close()  # whoever reads now is refused
        assert store.memories.key_filter(Filters(1)) is None


FOLDERS = ("src/", "SRC\\", "./src/Shop/", "shop/", "deep/", "/src/shop/", "s/", "src/*.py")


@pytest.mark.parametrize("file", FOLDERS)
def test_a_folder_is_found_by_its_index_as_by_reading_every_path(
    open_store: Callable[[], SqliteStore], file: str
) -> None:
    """Also one whose path is stored without its beginning, and a memory of the folder itself."""
    paths = (
        "src/till.py",
        "lib/src/Shop/till.py",
        "src/",
        "shop/src",
        "C:\\src\\shop\\a.py",
        "srcs/x.py",
        f"deep/{'long/' * 70}end.py",
    )
    with open_store() as store:
        for number, path in enumerate(paths):
            made = Observation("change", f"thing {number}", files_modified=(path,))
            store.memories.remember(made, ORIGIN, session=f"s{number}", at=NOON + number)
        store.text_index.catch_up()
        meant = {path for path in paths if is_of_file(path, file)}
        found = store.memories.list_cards(Filters(1, file=file), limit=20)
        assert {path for card in found for path in card.files} == meant
        key_filter = store.memories.key_filter(Filters(1, file=file))
        assert key_filter is not None
        assert len(key_filter.listed or ()) == len(meant)
