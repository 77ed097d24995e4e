"""A database with more projects, sessions and memories than one integer of 63 bits has room for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import psycopg
import pytest
from tests.contracts.store_contract import ORIGIN, Events, catch_up, new_events
from tests.harness import team_servers
from tests.harness.postgres import new_database
from tests.harness.team_servers import AT

from claude_mem.model.memory import Findings, Observation, Summary
from claude_mem.model.refs import Filters, Ref, ref_at
from claude_mem.model.structs import replace
from claude_mem.store.postgres import PostgresStore
from claude_mem.store.team import Identity, acting_as, acting_as_service
from claude_mem.store.values import Selection, TextQuery
from claude_mem.vectors.builtin import Builtin

pytestmark = pytest.mark.prove

OTHER = replace(ORIGIN, key="github.com/a/blog", name="blog", root="/home/a/blog")
LARGE = {
    "more projects than 14 bits": (20_000, 2**22 + 7, 2**25 + 7),
    "more than 32 bits": (3_000_000_000, 2**30 - 2, 2**31 - 3),
}
TABLES = ("observations", "session_summaries", "user_prompts", "pending_messages")
DERIVED = ("memory_words", "memory_documents", "memory_files", "memory_vectors", "unindexed", "unembedded")


def count_from(url: str, project: int, session: int, memory: int) -> None:
    firsts = {"projects": project, "sdk_sessions": session} | dict.fromkeys(TABLES, memory)
    with psycopg.connect(url, autocommit=True) as db:
        for table, first in firsts.items():
            db.execute(f"ALTER TABLE claude_mem.{table} ALTER COLUMN id RESTART WITH {first}".encode())


def found(store: PostgresStore, word: str, project: int | None) -> set[str]:
    matched = store.memories.match(TextQuery((word,)), project).matched
    return {str(ref_at(key)) for each in matched for key in each.scores}


def vector() -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.ones(16, dtype=np.float32)


@pytest.mark.parametrize("numbers", LARGE.values(), ids=LARGE)
def test_large_numbers_are_indexed_searched_merged_and_forgotten(
    store: PostgresStore, open_store: Callable[[], PostgresStore], url: str, numbers: tuple[int, int, int]
) -> None:
    count_from(url, *numbers)
    project, session, memory = numbers
    events = Events()
    given = (events.prompt("Where does the heron nest?"), events.tool(text="a heron"))
    store.events.accept(new_events(*given))
    lease = store.queue.lease(10)
    assert lease is not None
    seen = Observation("bugfix", title="The heron nests", files_modified=("src/nest.py",))
    store.queue.settle(lease, Findings((seen,), (Summary(request="A heron", learned="It nests."),)))
    catch_up(store)

    all_four = {str(memory), f"s{memory}", f"p{memory}", f"e{memory + 1}"}
    ref = Ref("observation", memory)
    assert found(store, "heron", project) == found(store, "heron", None) == all_four
    assert found(store, "heron", project - 16_384) == set()
    matches = store.memories.match(TextQuery(("heron",)), project)
    assert matches.sizes.sessions.keys() == {session}
    ((key, how),) = store.memories.keys_of_file("src/nest.py", Filters(project), 5)
    assert (ref_at(key), how) == (ref, "modified")
    assert store.statistics.changed_files(project, 5)[0].path == "src/nest.py"
    key_filter = store.memories.key_filter(Filters(project, types=("bugfix",)))
    assert key_filter is not None
    assert {ref_at(one) for one in key_filter(matches.matched[0].scores)} == {ref}

    vectors, elsewhere = Builtin(store.vectors), Builtin(open_store().vectors)
    elsewhere.nearest(vector(), project, 5)
    keys: set[int] = set()
    while (batch := store.embeddings.unembedded(10)) is not None:
        keys.update(key for key, _ in batch.texts)
        vectors.put({key: vector() for key, _ in batch.texts})
        store.embeddings.embedded(batch.marks, batch.settled)
    assert {str(ref_at(key)) for key in keys} == all_four - {f"e{memory + 1}"}
    for backend in (vectors, elsewhere):
        assert {key for key, _ in backend.nearest(vector(), project, 5)} == keys
        assert {key for key, _ in backend.nearest(vector(), None, 5)} == keys
    assert set(store.vectors.projects(sorted(keys)).items()) == {(key, project) for key in keys}

    store.events.accept(new_events(events.prompt("An egret?", "s2"), origin=OTHER))
    catch_up(store)
    store.projects.merge(project, project + 1)
    assert found(store, "heron", project) == set()
    assert found(store, "heron", project + 1) == all_four
    again = Builtin(store.vectors)
    assert again.nearest(vector(), project, 5) == []
    assert {key for key, _ in again.nearest(vector(), project + 1, 5)} == keys

    store.deletion.forget(store.deletion.plan(Selection(refs=(ref,))))
    assert found(store, "heron", None) == all_four - {str(memory)}
    assert {ref_at(key) for key, _ in again.nearest(vector(), None, 5)} == {ref_at(key) for key in keys} - {
        ref
    }
    for name in ("s1", "s2"):
        store.deletion.forget(store.deletion.plan(Selection(session=name)))
    with psycopg.connect(url) as db:
        left = {
            table: db.execute(f"SELECT count(*) FROM claude_mem.{table}".encode()).fetchone()
            for table in DERIVED
        }
    assert left == dict.fromkeys(DERIVED, (0,))


def test_who_may_read_a_project_of_a_large_number_finds_what_is_in_it_and_nobody_else_does() -> None:
    url = new_database()
    team_servers.new_team(url, "ben")
    shop, *others = LARGE["more than 32 bits"]
    count_from(url, shop, *others)
    ada = Identity(member="ada", machine="laptop", key_id=1, scopes=("read", "write", "admin"), admin=True)
    ben = Identity(member="ben", machine="laptop", key_id=2, scopes=("read", "write"))
    with PostgresStore.open(url, clock=lambda: AT + 10_000, server=True) as store:
        with acting_as(ada):
            assert not store.sharing.push(team_servers.session_records("one", "shop", "a heron")).refused
            assert not store.sharing.push(team_servers.session_records("two", "den", "a heron")).refused
        with acting_as_service():
            catch_up(store)
        team_servers.grant(url, "shop", "ben", "read")
        with acting_as(ada):
            assert len(found(store, "heron", None)) == 2
        with acting_as(ben):
            assert len(found(store, "heron", None)) == len(found(store, "heron", shop)) == 1
            assert found(store, "heron", shop + 1) == set()
