"""What only machines that share a database meet: each other's corrections, a server that restarts, its log, a
pooler in between."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import psycopg
import pytest
from tests.contracts.store_contract import Events, SettableClock, new_events
from tests.harness import postgres_server
from tests.harness.pooler import NEEDS_POOLER, pooler
from tests.unit.store.postgres.processes import finds, remember, soon, while_correcting

from claude_mem.model.errors import StoreError, StoreUnavailable
from claude_mem.model.memory import Findings
from claude_mem.store.postgres import PostgresStore
from claude_mem.store.postgres.connection import PostgresConnection
from claude_mem.store.values import ChangedMeanwhile, Revision

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
