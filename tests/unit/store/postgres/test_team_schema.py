"""The schema of a team's database: the same made new or migrated, and closed to whoever says not who they
are."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from tests.contracts.store_contract import NOON, ORIGIN, SettableClock
from tests.harness import postgres_server
from tests.harness import team as harness
from tests.harness.postgres import VERSIONS, Version, bare_database, new_database
from tests.security.team_reads import CHANGES, READINGS

from claude_mem.model.errors import StoreForbidden, StoreUnavailable
from claude_mem.model.memory import Observation
from claude_mem.model.refs import Filters, Ref, memory_key, wide_key
from claude_mem.store.postgres import PostgresStore, schema
from claude_mem.store.postgres.connection import LOCK, MEMBER_ROLE
from claude_mem.store.relational.part import Part
from claude_mem.store.team import acting_as, acting_as_service
from claude_mem.store.values import TextQuery

pytestmark = pytest.mark.prove
FIRST = Path(__file__).parents[3] / "fixtures" / "postgres" / "schema-1.sql"


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> Version:
    found: Version = request.param
    return found


def open_store(url: str, *, server: bool = False) -> PostgresStore:
    return PostgresStore.open(url, clock=SettableClock(), server=server)


def of_the_first_version(version: Version) -> str:
    """A database as the first version made it."""
    url = bare_database(version)
    with psycopg.connect(url, autocommit=True, options="-c search_path=claude_mem,public") as raw:
        raw.execute(FIRST.read_bytes())
        raw.execute("UPDATE schema_version SET version = 1")
        raw.execute(
            "INSERT INTO projects (key, name, root, created_at, created_at_epoch)"
            " VALUES ('k', 'n', '', '', 1)"
        )
        raw.execute(
            "INSERT INTO sdk_sessions (claude_session_id, project, project_id, status, client, created_at,"
            " created_at_epoch, updated_at, updated_at_epoch)"
            " VALUES ('old', 'n', 1, 'completed', 'codex', '', 1, '', 1)"
        )
    return url


SHAPE = (
    "SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name"
    " FROM information_schema.columns WHERE table_schema = 'claude_mem'",
    "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'claude_mem'",
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = 'claude_mem'::regnamespace",
    "SELECT t.tgname, pg_get_triggerdef(t.oid) FROM pg_trigger AS t JOIN pg_class AS c ON c.oid = t.tgrelid"
    " WHERE c.relnamespace = 'claude_mem'::regnamespace AND NOT t.tgisinternal",
    "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'claude_mem'::regnamespace",
    "SELECT tablename, policyname, cmd, qual, with_check, roles FROM pg_policies"
    " WHERE schemaname = 'claude_mem'",
    "SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class"
    " WHERE relnamespace = 'claude_mem'::regnamespace AND relkind IN ('r', 'p')",
    "SELECT version FROM schema_version",
)


def shape(url: str) -> list[list[str]]:
    with psycopg.connect(url, options="-c search_path=claude_mem,public") as raw:
        return [sorted(map(str, raw.execute(query.encode()))) for query in SHAPE]


def rows(url: str, query: str) -> list[Any]:
    with psycopg.connect(url, options="-c search_path=claude_mem,public") as raw:
        return raw.execute(query.encode()).fetchall()


# One schema, made or migrated


def test_a_migrated_database_is_like_a_new_one_and_keeps_its_rows(version: Version) -> None:
    url = of_the_first_version(version)
    with open_store(url) as store:
        assert store.sessions.find("old") is not None
        store.memories.remember(Observation("change", title="new"), ORIGIN, session="new", at=NOON)
    for found, wanted in zip(shape(url), shape(new_database(version)), strict=True):
        assert found == wanted
    assert rows(url, "SELECT author FROM sdk_sessions") == [(None,), (None,)]


def test_the_indexes_of_a_migrated_database_have_what_they_had(version: Version) -> None:
    """Words are indexed anew; a vector, which may have cost money, stays. Who still runs the version before
    reads on, and finds no key that it would misread."""
    url = of_the_first_version(version)
    narrow = memory_key(1, 1, Ref("observation", 1))
    with psycopg.connect(url, autocommit=True, options="-c search_path=claude_mem,public") as raw:
        for script in sorted((Path(schema.__file__).parent / "migrations").glob("000[234]_*.sql")):
            raw.execute(script.read_bytes())
        raw.execute("UPDATE schema_version SET version = 4")
        raw.execute(
            "INSERT INTO observations (session_id, project, project_id, type, title, created_at,"
            " created_at_epoch) VALUES (1, 'n', 1, 'change', 'a heron', '', 1)"
        )
        raw.execute("DELETE FROM unindexed")
        raw.execute("DELETE FROM unembedded")
        raw.execute("INSERT INTO derived VALUES ('text_version', '2'), ('vectors_made_by', 'builtin x')")
        for table, of, values in (
            ("memory_words", "word, memory_key, places", "'heron', %s, '{1}'"),
            ("memory_files", "base, memory_key, path, folder, how", "'a.py', %s, 'a.py', '', 'read'"),
            (
                "memory_documents",
                "memory_key, kind, id, words, tokens, is_tool",
                "%s, 'observation', 1, '{heron}', 1, 0",
            ),
            ("memory_vectors", "memory_key, vector", "%s, '\\x0102'"),
        ):
            raw.execute(f"INSERT INTO {table} ({of}) VALUES ({values})".encode(), [narrow])
        for left_behind in (memory_key(7, 1, Ref("observation", 1)), memory_key(1, 1, Ref("prompt", 9))):
            raw.execute("INSERT INTO memory_vectors VALUES (%s, '\\x09')", [left_behind])
    with open_store(url) as store:
        key = wide_key(1, Ref("observation", 1))
        assert store.vectors.blobs([key, narrow]) == {key: b"\1\2"}
        assert (
            list(store.vectors.newest(None, 5, 5))
            == list(store.vectors.newest(1, 5, 5))
            == [[(key, b"\1\2")]]
        )
        assert store.embeddings.unembedded(5) is None
        while store.text_index.step():
            pass
        (found,) = store.memories.match(TextQuery(("heron",)), 1).matched
        assert found.scores.keys() == {key}
    of_before = "SELECT memory_key FROM memory_words WHERE word = 'heron' AND memory_key BETWEEN 0 AND %d"
    assert rows(url, of_before % (2**63 - 1)) == []


def test_many_processes_that_start_at_once_migrate_once(version: Version) -> None:
    url = of_the_first_version(version)
    with ThreadPoolExecutor(6) as threads:
        for store in list(threads.map(lambda _: open_store(url, server=True), range(6))):
            store.close()
    assert rows(url, "SELECT version FROM schema_version") == [(schema.VERSION,)]


def test_a_migration_that_fails_leaves_the_database_as_it_was(version: Version) -> None:
    url = of_the_first_version(version)
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute("CREATE VIEW claude_mem.team_members AS SELECT 1 AS name")
    before = shape(url)
    with pytest.raises(Exception, match="team_members"):
        open_store(url)
    assert shape(url) == before


def test_a_migration_that_is_waited_for_is_seen() -> None:
    """Whoever waited for it must not write by the schema of before."""
    url = new_database()
    with open_store(url) as store, psycopg.connect(url) as raw, ThreadPoolExecutor(1) as threads:
        raw.execute("SELECT pg_advisory_xact_lock(%s::bigint)", [LOCK])
        raw.execute("UPDATE claude_mem.schema_version SET version = 99")
        waits = threads.submit(store.queue.count, "x")
        with psycopg.connect(url, autocommit=True) as watch:
            while not watch.execute("SELECT 1 FROM pg_locks WHERE NOT granted").fetchone():
                pass
        raw.commit()
        with pytest.raises(Exception, match="newer version"):
            waits.result(60)


# Closed


def test_every_table_is_closed_to_all_but_its_owner(version: Version) -> None:
    url = new_database(version)
    closed = rows(
        url,
        "SELECT relname, relrowsecurity FROM pg_class"
        " WHERE relnamespace = 'claude_mem'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')",
    )
    assert len(closed) > 30
    assert [name for name, is_closed in closed if not is_closed] == []


def test_what_runs_as_the_owner_looks_nothing_up_in_anybody_elses_schema(version: Version) -> None:
    """And every trigger runs so: what is kept in step is no member's to write."""
    functions = rows(
        new_database(version),
        "SELECT proname, prosecdef, COALESCE(CAST(proconfig AS text), ''),"
        " prorettype = 'trigger'::regtype FROM pg_proc WHERE pronamespace = 'claude_mem'::regnamespace",
    )
    pinned = '{"search_path=claude_mem, pg_temp"}'
    assert [name for name, is_owners, settings, _ in functions if is_owners and settings != pinned] == []
    assert [name for name, is_owners, _, is_trigger in functions if is_trigger and not is_owners] == []


def test_the_role_of_members_owns_nothing_and_every_rule_binds_it(version: Version) -> None:
    url = new_database(version)
    open_store(url, server=True).close()
    open_store(url, server=True).close()
    (role,) = rows(
        url,
        "SELECT rolsuper, rolbypassrls, rolcanlogin, rolcreaterole,"
        " (SELECT COUNT(*) FROM pg_class AS c WHERE c.relowner = r.oid)"
        f" FROM pg_roles AS r WHERE rolname = '{MEMBER_ROLE}'",
    )
    assert role == (False, False, False, False, 0)


def test_nobody_sees_anything_and_the_service_everything(version: Version) -> None:
    with harness.running(version) as team:
        team.push(team.admin, harness.shared("s1", "Prices are integers"))
        assert team.store.memories.count(Filters()) == 0
        with acting_as_service():
            assert team.store.memories.count(Filters()) == 3
        with pytest.raises(StoreForbidden):
            team.store.memories.remember(Observation("change", title="x"), ORIGIN, session="x", at=NOON)


def test_a_transaction_leaves_nothing_of_whom_it_was_for(version: Version) -> None:
    """A pooler may give the next transaction to any connection: each says everything for itself."""
    with harness.running(version) as team:
        told = "SELECT current_user, current_setting('claude_mem.member', true), current_setting('role')"

        def asked() -> Any:
            with team.store.readers.read() as db:
                return tuple(*db.raw.execute(told.encode()))

        with acting_as(team.admin):
            assert asked() == (MEMBER_ROLE, "ada", MEMBER_ROLE)
        assert asked() == (MEMBER_ROLE, "", MEMBER_ROLE)
        with acting_as_service():
            assert asked()[0] != MEMBER_ROLE
        assert asked() == (MEMBER_ROLE, "", MEMBER_ROLE)
        idle: Any
        (idle,) = team.store._pool._idle[-1].execute(told.encode()).fetchall()
        assert tuple(idle) == (MEMBER_ROLE, "", MEMBER_ROLE)


def test_a_database_of_one_person_is_as_before(version: Version) -> None:
    with open_store(new_database(version)) as store:
        store.memories.remember(Observation("change", title="x"), ORIGIN, session="x", at=NOON)
        assert store.memories.count(Filters()) == 1
        with store.readers.read() as db:
            assert db.run("SELECT COUNT(*) FROM team_changes", {}).fetchone()[0] == 0


# A database user that may not make roles


@pytest.fixture
def plain_user(version: Version) -> Iterator[tuple[str, str]]:
    """The address of an empty database for a user who may make no role, and for an administrator."""
    url = bare_database(version)
    name = f"plain_{urlsplit(url).path[1:]}"
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'x'".encode())
        raw.execute(f"GRANT CREATE ON DATABASE {urlsplit(url).path[1:]} TO {name}".encode())
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    yield urlunsplit(parts._replace(netloc=f"{name}:x@{host}")), url
    with psycopg.connect(url, autocommit=True) as raw:
        raw.execute(f"DROP OWNED BY {name} CASCADE".encode())
        raw.execute(f"DROP ROLE {name}".encode())


def test_a_user_who_may_make_no_role_is_told_what_an_administrator_is_to_run(
    plain_user: tuple[str, str],
) -> None:
    url, administrators = plain_user
    open_store(url).close()  # one person needs no role
    with pytest.raises(StoreUnavailable) as raised:
        open_store(url, server=True)
    commands = str(raised.value).partition("run: ")[2].rstrip(".")
    with psycopg.connect(administrators, autocommit=True) as raw:
        raw.execute(commands.encode())
    with open_store(url, server=True) as store:
        assert store.memories.count(Filters()) == 0
        with acting_as_service():
            store.directory.begin("ada", "laptop")
            assert len(store.directory.members()) == 1


def test_databases_of_one_server_that_begin_at_once_make_the_role_once() -> None:
    """A role is the whole server's: no lock of a database keeps two from making it."""
    with postgres_server.running() as server:
        urls = [server.url(f"team_{number}") for number in range(6)]
        with psycopg.connect(server.url(), autocommit=True) as raw:
            for number in range(6):
                raw.execute(f"CREATE DATABASE team_{number}".encode())
        with ThreadPoolExecutor(6) as threads:
            for store in list(threads.map(lambda url: open_store(url, server=True), urls)):
                store.close()


# The tests of what members see


def test_every_method_of_a_store_is_asked_what_it_shows_or_known_to_change_something() -> None:
    with open_store(new_database()) as store:
        parts = {name: part for name, part in vars(store).items() if isinstance(part, Part)}
        methods = {
            f"{name}.{method}"
            for name, part in (parts | {"copies": store.copies}).items()
            for method, _ in inspect.getmembers(part, callable)
            if not method.startswith("_")
        }
    assert methods == READINGS.keys() | CHANGES
