"""The extension pgvector comes and goes: what is close is found with it and without it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import numpy as np
import psycopg
import pytest
from tests.contracts.store_contract import ORIGIN, SettableClock
from tests.harness.postgres import bare_database, drop_pgvector, new_database
from tests.unit.store.postgres.processes import remember, soon

from claude_mem.model.memory import Observation
from claude_mem.model.refs import Ref, ref_at, wide_key
from claude_mem.model.structs import replace
from claude_mem.store.postgres import PostgresStore, pgvector
from claude_mem.store.postgres.connection import PostgresConnection
from claude_mem.store.relational.part import execute
from claude_mem.store.values import Selection
from claude_mem.vectors.builtin import Builtin

SIZE = 32


@pytest.fixture
def url() -> str:
    return new_database()


def opened(url: str) -> PostgresStore:
    return PostgresStore.open(url, clock=SettableClock())


def vectors_of(count: int, size: int = SIZE) -> list[Any]:
    made = np.random.default_rng(count).standard_normal((count, size)).astype(np.float32)
    return list(made / np.linalg.norm(made, axis=1, keepdims=True))


def filled(store: PostgresStore, count: int) -> list[int]:
    """Memories with vectors; their keys."""
    refs = [remember(store, f"heron {number}") for number in range(count)]
    keys = [key_of(store, ref) for ref in refs]
    Builtin(store.vectors).put(dict(zip(keys, vectors_of(count), strict=True)))
    return keys


def compares(store: PostgresStore) -> bool:
    """Whether the database does."""
    return store.vectors.nearest([1.0] * SIZE, None, 1) is not None


def nearest(store: PostgresStore, limit: int = 5) -> list[tuple[int, float]]:
    found = Builtin(store.vectors).nearest(vectors_of(1)[0], None, limit)
    return [(key, round(cosine, 6)) for key, cosine in found]


def copied(url: str) -> int:
    with psycopg.connect(url) as db:
        row = db.execute("SELECT COUNT(*) FROM claude_mem.memory_halfvecs").fetchone()
        assert row is not None
        return int(row[0])


# It comes


def test_a_database_that_gains_it_later_copies_in_steps_and_answers_the_same(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(url) as store:
        drop_pgvector(url)
        keys = filled(store, 7)
        before = nearest(store)
    monkeypatch.setattr(pgvector, "COPIED_AT_ONCE", 3)
    with opened(url) as store:
        steps = []
        while step := store.embeddings.copy():
            assert not compares(store)
            assert store.vectors.pgvector() != installed(url)
            assert nearest(store) == before
            steps.append(step)
        assert steps == [3, 3, 1]
        assert compares(store)
        assert store.vectors.pgvector() == installed(url)
        assert nearest(store) == before
        assert nearest(store, 100)[-1][0] in keys
        assert copied(url) == 7


def installed(url: str) -> str:
    with psycopg.connect(url) as db:
        row = db.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
        assert row is not None
        return str(row[0])


def test_a_process_that_was_started_before_goes_on_and_uses_it_when_all_is_copied(url: str) -> None:
    with opened(url) as before:
        drop_pgvector(url)
        keys = filled(before, 2)
        with opened(url) as after:
            later = key_of(before, remember(before, "an egret"))
            Builtin(before.vectors).put({later: vectors_of(1)[0]})
            assert nearest(before, 1)[0][0] == later
            while after.embeddings.copy():
                pass
            assert compares(before)
            assert {key for key, _ in nearest(before)} == {*keys, later}


def test_what_is_held_in_memory_is_released_once_the_database_compares(url: str) -> None:
    with opened(url) as store:
        drop_pgvector(url)
        filled(store, 3)
        vectors = Builtin(store.vectors)
        vectors.nearest(vectors_of(1)[0], None, 5)
        assert vectors._cached
        with opened(url) as other:
            while other.embeddings.copy():
                pass
        assert len(vectors.nearest(vectors_of(1)[0], None, 5)) == 3
        assert not vectors._cached


# It goes


def test_dropped_while_it_is_used_vectors_are_compared_and_stored_as_without_it(url: str) -> None:
    with opened(url) as store:
        filled(store, 3)
        before = nearest(store)
        assert compares(store)
        drop_pgvector(url)
        assert not compares(store)
        assert nearest(store) == before
        later = key_of(store, remember(store, "an egret"))
        Builtin(store.vectors).put({later: vectors_of(1)[0]})
        assert nearest(store, 1)[0][0] == later
        assert store.embeddings.copy() == 0
        assert store.vectors.pgvector() == "not installed"


@pytest.fixture
def plain_user() -> Iterator[tuple[str, str]]:
    """The address of an empty database for its owner, who may create no extension, and for an
    administrator."""
    url = bare_database()
    database = urlsplit(url).path[1:]
    name = f"plain_{database}"
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'".encode())
        raw.execute(f"ALTER DATABASE {database} OWNER TO {name}".encode())
    parts = urlsplit(url)
    yield urlunsplit(parts._replace(netloc=f"{name}:x@{parts.netloc.rpartition('@')[2]}")), url
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(f"REASSIGN OWNED BY {name} TO CURRENT_USER".encode())
        raw.execute(f"DROP OWNED BY {name} CASCADE".encode())
        raw.execute(f"DROP ROLE {name}".encode())


@pytest.mark.prove
def test_without_the_right_to_create_it_all_works_and_an_administrator_may_do_so_any_time(
    plain_user: tuple[str, str],
) -> None:
    url, administrators = plain_user
    with opened(url) as store:
        assert store.vectors.pgvector() == "not installed"
        filled(store, 3)
        before = nearest(store)
    for schema in ("public", '"Other Things"'):
        with psycopg.connect(administrators, autocommit=True) as db:
            db.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}".encode())
            db.execute(f"CREATE EXTENSION vector WITH SCHEMA {schema}".encode())
        if schema != "public":
            with opened(url) as store:
                assert store.vectors.pgvector() not in ("not installed", installed(url))
                assert nearest(store) == before
            with psycopg.connect(administrators, autocommit=True) as db:
                db.execute(f"GRANT USAGE ON SCHEMA {schema} TO PUBLIC".encode())
        with opened(url) as store:
            assert store.embeddings.copy() == 3
            while store.embeddings.copy():
                pass
            assert compares(store)
            assert nearest(store) == before
        drop_pgvector(administrators)
        with opened(url) as store:
            assert store.vectors.pgvector() == "not installed"
            assert nearest(store) == before


@pytest.mark.prove
def test_a_dump_restored_where_it_does_not_exist_stores_vectors_again(plain_user: tuple[str, str]) -> None:
    """There a restore makes the trigger, whose words nobody checks, and not the table."""
    url, administrators = plain_user
    with psycopg.connect(administrators, autocommit=True) as db:
        db.execute("CREATE EXTENSION vector")
    with opened(url) as store:
        filled(store, 2)
    with psycopg.connect(administrators, autocommit=True) as db:
        db.execute("ALTER FUNCTION claude_mem.vector_changed() NO DEPENDS ON EXTENSION vector")
    drop_pgvector(administrators)
    with opened(url) as store:
        filled(store, 3)
        assert len(nearest(store)) == 3


@pytest.mark.prove
def test_a_version_without_half_precision_is_left_alone(url: str) -> None:
    with opened(url) as store:
        drop_pgvector(url)
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("CREATE EXTENSION vector")
            db.execute("ALTER TYPE halfvec RENAME TO not_yet")
        with opened(url) as again:
            filled(again, 2)
            assert again.vectors.pgvector() != installed(url)
            assert not compares(again)
            assert len(nearest(store)) == 2


# What is stored changes


def test_what_is_forgotten_moved_or_made_again_is_so_in_both(url: str) -> None:
    with opened(url) as store:
        keys = filled(store, 4)
        store.deletion.forget(store.deletion.plan(Selection(refs=(ref_at(keys[0]),))))
        assert copied(url) == 3
        assert {key for key, _ in nearest(store)} == set(keys[1:])
        other = replace(ORIGIN, key="github.com/a/blog", name="blog")
        store.memories.remember(Observation("change", title="elsewhere"), other, session="t", at=1)
        gone, into = project(store, ORIGIN.key), project(store, other.key)
        store.projects.merge(gone, into)
        found = Builtin(store.vectors).nearest(vectors_of(1)[0], into, 5)
        assert len(found) == copied(url) == 3
        assert Builtin(store.vectors).nearest(vectors_of(1)[0], gone, 5) == []


def test_vectors_of_another_dimension_take_the_place_of_all(url: str) -> None:
    with opened(url) as store:
        keys = filled(store, 3)
        store.embeddings.begin("builtin another")
        assert copied(url) == 0
        again = Builtin(store.vectors)
        again.put({keys[0]: vectors_of(1, 8)[0]})
        assert compares(store)
        assert [key for key, _ in again.nearest(vectors_of(1, 8)[0], None, 5)] == keys[:1]


@pytest.mark.prove
@pytest.mark.parametrize("moves", [False, True], ids=["forgotten", "moved"])
def test_what_is_forgotten_or_moved_while_it_is_copied_is_so_in_both(
    url: str, monkeypatch: pytest.MonkeyPatch, moves: bool
) -> None:
    with opened(url) as store:
        drop_pgvector(url)
        keys = filled(store, 3)
    monkeypatch.setattr(pgvector, "COPIED_AT_ONCE", 1)
    with opened(url) as store, ThreadPoolExecutor(2) as threads:
        written, leave = threading.Event(), threading.Event()

        def work(db: PostgresConnection) -> None:
            if moves:
                last = wide_key(99_999, ref_at(keys[0]))
                execute(db, "move_vector", old=keys[0], new=last, project_id=7)
            else:
                execute(db, "remove_vectors", memory_keys=f"[{keys[0]}]")
            written.set()
            assert leave.wait(60)

        changes = threads.submit(store.writer.run, work)
        try:
            assert written.wait(60)
            copies = threads.submit(store.embeddings.copy)
            with psycopg.connect(url, autocommit=True) as watch:
                assert soon(lambda: watch.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone())
        finally:
            leave.set()
        changes.result(60)
        copies.result(60)
        while store.embeddings.copy():
            pass
        assert compares(store)
        assert stored(url, "memory_halfvecs") == stored(url, "memory_vectors")
        assert len(stored(url, "memory_halfvecs")) == (3 if moves else 2)


def stored(url: str, table: str) -> set[tuple[int, int]]:
    with psycopg.connect(url) as db:
        return set(db.execute(f"SELECT project_id, memory_key FROM claude_mem.{table}".encode()).fetchall())


def key_of(store: PostgresStore, ref: Ref) -> int:
    (card,) = store.memories.cards([ref])
    return wide_key(card.session_db_id, ref)


def project(store: PostgresStore, key: str) -> int:
    found = store.projects.by_key(key)
    assert found is not None
    return found.id
