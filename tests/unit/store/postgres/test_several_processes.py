"""What only a store with several writers has to do: nothing skipped, nothing twice, nobody in the way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import psycopg
import pytest
from tests.contracts.store_contract import NOON, Events, SettableClock, catch_up, new_events
from tests.contracts.transfer_contract import made
from tests.harness.postgres import VERSIONS, Version, bare_database
from tests.unit.store.postgres.processes import WAIT_S, finds, open_transaction, remember, soon

from claude_mem.model.errors import StoreError, StoreForeign, StoreTooNew, StoreUnavailable
from claude_mem.model.events import Kind
from claude_mem.model.jobs import JobState
from claude_mem.model.memory import Findings
from claude_mem.model.refs import Filters
from claude_mem.store.postgres import PostgresStore, survey, upkeep
from claude_mem.store.postgres.connection import PostgresConnection
from claude_mem.store.postgres.store import JOBS, NEWS
from claude_mem.store.values import Revision, Selection

pytestmark = pytest.mark.prove


# Marks that cannot skip what commits late


def test_what_commits_after_a_later_memory_is_indexed_too(
    store: PostgresStore, open_store: Callable[[], PostgresStore]
) -> None:
    remember(store, "the session is made", "slow")
    with open_transaction(store, "slow heron"):
        remember(open_store(), "quick egret")
        catch_up(store)
        assert (finds(store, "egret"), finds(store, "heron")) == (1, 0)
    catch_up(store)
    assert finds(store, "heron") == 1


def test_what_commits_after_a_later_memory_gets_a_vector_too(
    store: PostgresStore, open_store: Callable[[], PostgresStore]
) -> None:
    remember(store, "the session is made", "slow")

    def embed() -> list[str]:
        texts = []
        while (some := store.embeddings.unembedded(100)) is not None:
            texts += [text for _, text in some.texts]
            store.embeddings.embedded(some.marks, some.settled)
        return texts

    with open_transaction(store, "slow heron"):
        remember(open_store(), "quick egret")
        assert "quick egret" in embed()
    assert embed() == ["slow heron"]


def test_what_commits_after_a_later_memory_is_news_too(
    store: PostgresStore, open_store: Callable[[], PostgresStore]
) -> None:
    remember(store, "the session is made", "slow")
    marks = store.statistics.news(None).marks
    with open_transaction(store, "slow heron"):
        remember(open_store(), "quick egret")
        seen = store.statistics.news(marks)
        assert len(seen.projects) == 1
        marks = seen.marks
    seen = store.statistics.news(marks)
    assert len(seen.projects) == 1
    assert store.statistics.news(seen.marks).projects == ()


def test_words_that_change_while_they_are_embedded_are_embedded_again(store: PostgresStore) -> None:
    ref = remember(store, "a heron")
    some = store.embeddings.unembedded(100)
    assert some is not None
    store.memories.revise([Revision(ref.id, {"title": "an egret"})])
    store.embeddings.embedded(some.marks, some.settled)
    again = store.embeddings.unembedded(100)
    assert again is not None
    assert [text for _, text in again.texts] == ["an egret"]


# Several at once


def test_many_processes_index_everything_once(
    store: PostgresStore, open_store: Callable[[], PostgresStore]
) -> None:
    refs = [remember(store, f"heron {number}") for number in range(300)]
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(catch_up, [store, *(open_store() for _ in range(3))]))
    assert finds(store, "heron") == 300
    store.memories.revise([Revision(ref.id, {"title": f"egret {ref.id}"}) for ref in refs[:100]])
    assert (finds(store, "heron"), finds(store, "egret")) == (200, 100)


def test_what_arrives_while_its_session_is_forgotten_goes_with_it_and_leaves_no_word(
    store: PostgresStore, open_store: Callable[[], PostgresStore]
) -> None:
    events, other = Events(), open_store()
    store.events.accept(new_events(events.tool()))
    begun, leave = threading.Event(), threading.Event()

    def forgets(db: PostgresConnection) -> None:
        row = db.run("SELECT id FROM sdk_sessions", {}).fetchone()
        begun.set()
        assert leave.wait(WAIT_S)
        db.run("DELETE FROM sdk_sessions WHERE id = %(id)s", {"id": row["id"]})

    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(store.writer.run, forgets)
        assert begun.wait(WAIT_S)
        other.events.accept(new_events(events.prompt("a heron")))
        catch_up(other)
        assert finds(other, "heron") == 1
        leave.set()
        done.result(WAIT_S)
    left = ("memory_words", "memory_documents", "memory_files", "unindexed", "unembedded")
    with store.readers.read() as db:
        for table in left:
            assert (table, db.run(f"SELECT COUNT(*) FROM {table}", {}).fetchone()[0]) == (table, 0)
        assert db.run("SELECT SUM(documents), SUM(tokens) FROM text_totals", {}).fetchone()[0] == 0


def test_what_is_forgotten_while_it_is_indexed_leaves_no_word(
    store: PostgresStore, open_store: Callable[[], PostgresStore]
) -> None:
    refs = [remember(store, f"heron {number}") for number in range(200)]
    other = open_store()
    with ThreadPoolExecutor(2) as threads:
        indexing = threads.submit(catch_up, other)
        store.deletion.forget(store.deletion.plan(Selection(refs=tuple(refs))))
        indexing.result(WAIT_S)
    catch_up(store)
    assert finds(store, "heron") == 0
    with store.readers.read() as db:
        left = db.run(
            "SELECT COUNT(*) FROM memory_words UNION ALL SELECT COALESCE(SUM(documents), 0) FROM text_totals",
            {},
        )
        assert [row[0] for row in left] == [0, 0]


def test_a_session_that_another_is_taking_is_passed_over(
    store: PostgresStore, open_store: Callable[[], PostgresStore]
) -> None:
    events = Events()
    store.events.accept(new_events(events.tool("a"), events.tool("b")))
    other = open_store()
    taken, leave = threading.Event(), threading.Event()

    def take(db: PostgresConnection) -> Any:
        lease: Any = type(store.queue).lease
        found = lease.__wrapped__(store.queue, db, 10)
        taken.set()
        assert leave.wait(WAIT_S)
        return found

    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(store.writer.run, take)
        try:
            assert taken.wait(WAIT_S)
            second = other.queue.lease(10)
            assert other.queue.lease(10) is None
        finally:
            leave.set()
        assert second is not None
        assert second.session_id != first.result(WAIT_S).session_id


def test_jobs_are_handed_out_once_among_many(open_store: Callable[[], PostgresStore]) -> None:
    stores = [open_store() for _ in range(3)]
    events = Events()
    stores[0].events.accept(new_events(*(events.tool(f"s{number % 20}") for number in range(100))))

    def work(store: PostgresStore) -> list[int]:
        done = []
        while (lease := store.queue.lease(3)) is not None:
            store.queue.settle(lease, Findings())
            done += [job.id for job in lease.jobs]
        return done

    with ThreadPoolExecutor(6) as threads:
        done = [id for found in threads.map(work, stores * 2) for id in found]
    assert sorted(done) == sorted(set(done))
    assert stores[0].queue.figures().done == len(done) == 100


def test_prompts_of_a_session_that_two_deliver_have_a_number_each(
    open_store: Callable[[], PostgresStore],
) -> None:
    stores, events = [open_store(), open_store()], Events()
    prompts = [events.prompt(f"prompt {number}", prompt_id=f"p{number}") for number in range(40)]

    def deliver(at: int) -> None:
        for store in (stores[at % 2], stores[(at + 1) % 2]):  # each of them by both
            store.events.accept(new_events(prompts[at]))

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(deliver, range(40)))
    jobs = [job for job, _ in stores[0].queue.jobs(JobState.READY, 100)]
    assert sorted(job.prompt_number for job in jobs) == list(range(1, 41))


def test_what_two_accept_of_one_session_at_once_both_count(
    store: PostgresStore, open_store: Callable[[], PostgresStore], url: str
) -> None:
    """Each works on the session as the other has left it: a counter read too early would be set back."""
    events, other = Events(), open_store()
    store.events.accept(new_events(events.tool()))
    written, leave = threading.Event(), threading.Event()

    def accept(db: PostgresConnection) -> None:
        first: Any = type(store.events).accept
        first.__wrapped__(store.events, db, new_events(events.prompt("first", prompt_id="p1")))
        written.set()
        assert leave.wait(WAIT_S)

    with ThreadPoolExecutor(2) as threads, psycopg.connect(url, autocommit=True) as db:
        held = threads.submit(store.writer.run, accept)
        try:
            assert written.wait(WAIT_S)
            waits = threads.submit(other.events.accept, new_events(events.tool()))
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
            assert soon(lambda: db.execute(waiting).fetchone())
        finally:
            leave.set()
        held.result(WAIT_S)
        waits.result(WAIT_S)
    store.events.accept(new_events(events.prompt("second", prompt_id="p2")))
    numbers = {job.event.text: job.prompt_number for job, _ in store.queue.jobs(JobState.READY, 9)}
    assert (numbers["first"], numbers["second"]) == (1, 2)


def test_what_is_accepted_while_the_last_job_is_settled_is_handed_out(
    store: PostgresStore, open_store: Callable[[], PostgresStore], url: str
) -> None:
    events, other = Events(), open_store()
    store.events.accept(new_events(events.tool()))
    lease = other.queue.lease(10)
    assert lease is not None
    written, leave = threading.Event(), threading.Event()

    def accept(db: PostgresConnection) -> None:
        first: Any = type(store.events).accept
        first.__wrapped__(store.events, db, new_events(events.make(Kind.STOP, text="The last words.")))
        written.set()
        assert leave.wait(WAIT_S)

    with ThreadPoolExecutor(2) as threads, psycopg.connect(url, autocommit=True) as db:
        held = threads.submit(store.writer.run, accept)
        try:
            assert written.wait(WAIT_S)
            waits = threads.submit(other.queue.settle, lease, Findings())
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
            assert soon(lambda: db.execute(waiting).fetchone())
        finally:
            leave.set()
        held.result(WAIT_S)
        waits.result(WAIT_S)
    assert store.queue.lease(10) is not None


# Leases belong to who holds the lock


def test_a_process_that_starts_takes_back_only_dead_leases(
    store: PostgresStore, open_store: Callable[[], PostgresStore], url: str
) -> None:
    events = Events()
    store.events.accept(new_events(events.tool("a"), events.tool("b")))
    dies = PostgresStore.open(url, clock=SettableClock())
    assert dies.queue.lease(10) is not None
    lives = open_store()
    lease = lives.queue.lease(10)
    assert lease is not None
    assert store.queue.reclaim() == 0
    dies.close()
    assert soon(store.queue.reclaim) == 1
    lives.queue.settle(lease, Findings())
    assert store.queue.figures().done == 1


# Who may open it


@pytest.mark.parametrize("version", VERSIONS)
def test_many_processes_that_start_at_once_make_the_schema_once(version: Version) -> None:
    url = bare_database(version)
    with ThreadPoolExecutor(6) as threads, ExitStack() as stack:
        opened = list(threads.map(lambda _: PostgresStore.open(url, clock=SettableClock()), range(6)))
        for one in opened:
            stack.callback(one.close)
        assert opened[5].events.accept(new_events(Events().tool())).fresh == 1
        assert opened[0].queue.figures().ready == 1


def test_who_does_not_know_the_schema_neither_opens_it_nor_goes_on_writing(
    store: PostgresStore, url: str
) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE claude_mem.schema_version SET version = 99")
    with pytest.raises(StoreTooNew):
        PostgresStore.open(url, clock=SettableClock())
    with pytest.raises(StoreTooNew):
        store.events.accept(new_events(Events().tool()))
    assert store.queue.figures().ready == 0
    seen = survey.survey_database(url, NOON)
    assert seen.problem is not None


def test_tables_of_another_program_are_left_alone() -> None:
    url = bare_database()
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("CREATE SCHEMA claude_mem")
        db.execute("CREATE TABLE claude_mem.theirs (id int)")
    with pytest.raises(StoreForeign):
        PostgresStore.open(url, clock=SettableClock())


def test_a_lost_connection_is_made_again(store: PostgresStore, url: str) -> None:
    store.events.accept(new_events(Events().tool()))
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    assert store.queue.figures().ready == 1
    assert store.events.accept(new_events(Events().tool("other", id="another"))).fresh == 1


def test_a_server_that_is_not_there_is_named_without_the_password() -> None:
    with pytest.raises(StoreUnavailable) as raised:
        PostgresStore.open("postgresql://me:hunter2@127.0.0.1:1/memory", clock=SettableClock())
    assert "hunter2" not in str(raised.value)
    seen = survey.survey_database("postgresql://me:hunter2@127.0.0.1:1/memory", NOON)
    assert seen.problem
    assert "hunter2" not in f"{seen.problem} {seen.path}"


def test_an_address_that_cannot_be_read_is_not_quoted() -> None:
    with pytest.raises(StoreUnavailable) as raised:
        PostgresStore.open("postgresql://me:hunter2%off@127.0.0.1:1/memory", clock=SettableClock())
    assert "hunter2" not in f"{raised.value} {raised.value.__cause__}"


def test_an_error_does_not_quote_the_row(store: PostgresStore) -> None:
    def work(db: PostgresConnection) -> None:
        db.run("INSERT INTO counters (name, backend, value) VALUES ('my private words', 0, NULL)", {})

    with pytest.raises(StoreError) as raised:
        store.writer.run(work)
    assert "private words" not in str(raised.value)


# News


def test_what_one_process_adds_another_hears_of(
    store: PostgresStore, open_store: Callable[[], PostgresStore]
) -> None:
    other = open_store()
    assert other.wait(0.0) == {JOBS, NEWS}, "whatever came before it listened"
    assert other.wait(0.0) == frozenset()
    store.events.accept(new_events(Events().tool()))
    heard = set(soon(lambda: other.wait(1.0)))
    while more := other.wait(0.1):
        heard |= more
    assert JOBS in heard
    remember(store, "a heron")
    assert NEWS in soon(lambda: other.wait(1.0))


# Seen from outside


def test_a_survey_counts_what_is_there_and_changes_nothing(store: PostgresStore, url: str) -> None:
    store.events.accept(new_events(Events().tool(), Events().make(Kind.STOP, id="x")))
    seen = survey.survey_database(url, NOON)
    assert (seen.exists, seen.problem, seen.schema == seen.known_schema) == (True, None, True)
    assert seen.figures == store.queue.figures()
    assert seen.unindexed == 2
    assert survey.count_since(url, 0, NOON).events == 2
    assert not survey.survey_database(bare_database(), NOON).exists


def test_a_trial_import_answers_as_an_import_and_leaves_nothing(store: PostgresStore, url: str) -> None:
    records = [made("project"), made("session"), made("observation")]
    with upkeep.scratch(url, SettableClock()) as trial:
        tried = [trial.absorb(records, own=True) for _ in range(2)]
    assert store.memories.count(Filters()) == 0
    assert [store.transfer.absorb(records, own=True) for _ in range(2)] == tried


def test_a_statement_that_fails_undoes_its_transaction(store: PostgresStore) -> None:
    def work(db: PostgresConnection) -> None:
        db.run("INSERT INTO derived (name, value) VALUES ('a', 'b')", {})
        db.run("SELECT nonsense", {})

    with pytest.raises(StoreError):
        store.writer.run(work)
    with store.readers.read() as db:
        assert db.run("SELECT COUNT(*) FROM derived WHERE name = 'a'", {}).fetchone()[0] == 0
    assert store.memories.count(Filters()) == 0
