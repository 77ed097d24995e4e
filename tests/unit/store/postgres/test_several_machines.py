"""What only machines that share a database meet: each other's corrections, a server that restarts, its log, a
pooler in between."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import psycopg
import pytest
from tests.contracts.store_contract import Events, SettableClock, new_events
from tests.harness import postgres_server
from tests.harness.pooler import NEEDS_POOLER, pooler
from tests.unit.store.postgres.processes import finds, remember, soon, while_correcting

from claude_mem.model.errors import StoreError, StoreUnavailable
from claude_mem.model.memory import Findings
from claude_mem.model.refs import Ref, wide_key
from claude_mem.store.postgres import PostgresStore, vector_index
from claude_mem.store.postgres.connection import PostgresConnection
from claude_mem.store.values import ChangedMeanwhile, ForgetPlan, Revision, Selection
from claude_mem.vectors.builtin import Builtin
from claude_mem.vectors.indexer import RETRY_MS, VectorIndexer

pytestmark = pytest.mark.prove

SAID = "my private words"

# Corrections


def test_two_corrections_at_once_both_hold(
    store: PostgresStore, open_store: Callable[[], PostgresStore], url: str
) -> None:
    ref, other = remember(store, "a heron"), open_store()
    waits = while_correcting(store, url, Revision(ref.id, {"title": "an egret"}))
    with waits(lambda: other.memories.revise([Revision(ref.id, {"narrative": "It waits."})])) as second:
        assert second() == [Revision(ref.id, {"narrative": None})]
    columns = store.memories.details([ref])[ref][1]
    assert (columns["title"], columns["narrative"]) == ("an egret", "It waits.")
    assert (finds(store, "egret"), finds(store, "heron")) == (1, 0)


def test_a_correction_of_what_another_corrects_now_is_refused(
    store: PostgresStore, open_store: Callable[[], PostgresStore], url: str
) -> None:
    ref, other = remember(store, "a heron"), open_store()
    waits = while_correcting(store, url, Revision(ref.id, {"title": "an egret"}))
    late = [Revision(ref.id, {"title": "a crane"})]
    seen = [Revision(ref.id, {"title": "a heron"})]
    with waits(lambda: other.memories.revise(late, expected=seen)) as second, pytest.raises(ChangedMeanwhile):
        second()
    assert store.memories.details([ref])[ref][1]["title"] == "an egret"


# News of what was changed or forgotten


def test_what_one_machine_corrects_or_forgets_is_rendered_anew_by_the_others(
    store: PostgresStore, open_store: Callable[[], PostgresStore]
) -> None:
    ref, other = remember(store, "a heron"), open_store()
    marks = other.statistics.news(None).marks
    for change in (
        lambda: store.memories.revise([Revision(ref.id, {"title": "an egret"})]),
        lambda: store.memories.revise([Revision(ref.id, {"wrong": 1})]),
        lambda: store.deletion.forget(store.deletion.plan(Selection(refs=(ref,)))),
        lambda: store.deletion.forget(ForgetPlan(sessions=("s",))),
    ):
        assert other.statistics.news(marks).changed == ()
        change()
        news = other.statistics.news(marks)
        assert (news.projects, news.changed) == ((1,), (1,))
        marks = news.marks


def test_a_memory_that_is_new_changes_nothing_that_was_rendered(store: PostgresStore) -> None:
    remember(store, "a heron")
    marks = store.statistics.news(None).marks
    remember(store, "an egret")
    assert store.statistics.news(marks).changed == ()


# Vectors


def test_vectors_that_another_process_makes_are_compared_without_a_restart(
    store: PostgresStore, open_store: Callable[[], PostgresStore]
) -> None:
    keys = [_key(store, remember(store, f"heron {number}")) for number in range(3)]
    ours, theirs = Builtin(store.vectors), Builtin(open_store().vectors)
    ours.put({keys[0]: _vector(1, 0)})
    assert [key for key, _ in ours.nearest(_vector(1, 0), None, 9)] == keys[:1]
    theirs.put({keys[1]: _vector(0, 1), keys[2]: _vector(1, 1)})
    assert [key for key, _ in ours.nearest(_vector(0, 1), None, 9)] == [keys[1], keys[2], keys[0]]
    theirs.put({keys[0]: _vector(0, 1)})  # its words were changed
    assert dict(ours.nearest(_vector(0, 1), None, 9))[keys[0]] == pytest.approx(1.0)


def test_a_machine_with_another_model_leaves_the_vectors_of_the_others(
    store: PostgresStore, open_store: Callable[[], PostgresStore], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, key = open_store(), _key(store, remember(store, "a heron"))
    ours = _indexer(store, "one")
    assert ours.step(0) == 1
    assert ours.step(1) == 0  # looked, and noted that it uses them
    monkeypatch.setattr(vector_index, "gethostname", lambda: "another machine")
    theirs = _indexer(other, "another")
    assert theirs.step(0) == 0
    assert "builtin one" in str(theirs.trouble)
    assert store.vectors.existing([key]) == {key}
    with psycopg.connect(url, autocommit=True) as db:  # nobody has used the first model for long
        db.execute("UPDATE claude_mem.vector_users SET seen_at = now() - INTERVAL '2 days'")
    assert theirs.step(RETRY_MS) == 1
    assert theirs.trouble is None
    assert other.embeddings.made() is not None
    assert str(other.embeddings.made()).startswith("('builtin another'")


def test_a_machine_alone_may_change_its_model(store: PostgresStore) -> None:
    remember(store, "a heron")
    assert _indexer(store, "one").step(0) == 1
    again = _indexer(store, "another")
    assert again.step(0) == 1
    assert again.trouble is None


def _key(store: PostgresStore, ref: Ref) -> int:
    (card,) = store.memories.cards([ref])
    return wide_key(card.session_db_id, ref)


def _vector(*values: float) -> Any:
    return np.array(values, dtype=np.float32)


def _indexer(store: PostgresStore, model: str) -> VectorIndexer:
    return VectorIndexer(store.embeddings, Builtin(store.vectors), Counting(model))


class Counting:
    """A model that counts letters."""

    weight, batch = 1.0, 8

    def __init__(self, name: str) -> None:
        self.name = name

    def is_ready(self) -> bool:
        return True

    def embed(self, texts: Sequence[str]) -> list[Any]:
        return [_vector(len(text), 1) for text in texts]

    def embed_query(self, text: str, within_s: float) -> Any:
        del within_s
        return self.embed([text])[0]

    def close(self) -> None:
        pass


# A server that restarts


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_lease_is_still_held_after_the_server_was_restarted(mode: str) -> None:
    with (
        postgres_server.running() as server,
        PostgresStore.open(server.url(), clock=SettableClock()) as holds,
    ):
        holds.events.accept(new_events(Events().tool()))
        lease = holds.queue.lease(10)
        assert lease is not None
        server.restart(mode)
        assert soon(lambda: _answers(holds))
        with PostgresStore.open(server.url(), clock=SettableClock()) as starts:
            assert starts.queue.reclaim() == 0
            holds.queue.settle(lease, Findings())
            assert starts.queue.figures().done == 1


def test_a_lease_is_still_held_after_its_lock_alone_was_lost(
    store: PostgresStore, open_store: Callable[[], PostgresStore], url: str
) -> None:
    store.events.accept(new_events(Events().tool()))
    assert store.queue.lease(10) is not None
    with psycopg.connect(url, autocommit=True) as db:
        holders = "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND database ="
        db.execute(
            f"SELECT pg_terminate_backend(pid) FROM ({holders}"
            " (SELECT oid FROM pg_database WHERE datname = current_database())) AS held"
        )
        assert soon(lambda: not db.execute("SELECT 1 FROM pg_locks WHERE objsubid = 2").fetchall())
    store.wait(0.0)  # the loop that listens does so all the time
    assert open_store().queue.reclaim() == 0


def _answers(store: PostgresStore) -> bool:
    try:
        store.queue.figures()
    except StoreUnavailable:
        return False
    return True


# A pooler in between


@NEEDS_POOLER
def test_a_pooler_that_lends_connections_for_a_transaction_is_refused() -> None:
    with (
        postgres_server.running() as server,
        pooler(server, "transaction") as port,
        pytest.raises(StoreUnavailable, match="transaction mode"),
    ):
        PostgresStore.open(server.url(port=port), clock=SettableClock())


@NEEDS_POOLER
def test_a_pooler_that_lends_connections_for_a_session_is_no_matter() -> None:
    with (
        postgres_server.running() as server,
        pooler(server, "session") as port,
        PostgresStore.open(server.url(port=port), clock=SettableClock()) as store,
    ):
        store.events.accept(new_events(Events().tool()))
        assert store.queue.lease(10) is not None
        with PostgresStore.open(server.url(), clock=SettableClock()) as other:
            assert other.queue.reclaim() == 0


# The server's log


def test_the_servers_log_does_not_quote_what_a_failing_statement_was_given() -> None:
    with postgres_server.running() as server:
        with PostgresStore.open(server.url(), clock=SettableClock()) as store:

            def work(db: PostgresConnection) -> None:
                db.run("SELECT CAST(%(words)s AS text), 1 / 0", {"words": SAID})

            with pytest.raises(StoreError):
                store.writer.run(work)
        log = server.log()
    assert "division by zero" in log
    assert SAID not in log


def test_every_statement_shows_the_types_of_its_parameters(store: PostgresStore) -> None:
    """They are bound by the server, which then knows no more of them than the statement."""
    for name, statement in PostgresConnection.queries.items():
        if "{found}" in statement:
            continue  # put together of a condition, and run by the contracts of search
        given = dict.fromkeys(re.findall(r"%\((\w+)\)s", statement))
        with pytest.raises((Undone, StoreError)) as raised:
            store.writer.run(partial(undone, statement=statement, given=given))
        # NULL is not what most are made for
        assert not isinstance(raised.value.__cause__, psycopg.errors.AmbiguousParameter), name


def undone(db: PostgresConnection, statement: str, given: dict[str, None]) -> None:
    db.run(statement, given)
    raise Undone


class Undone(Exception):
    pass
