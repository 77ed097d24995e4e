"""Row 20: every old schema becomes the fresh one, through any kill; foreign and newer ones stay untouched."""

from __future__ import annotations

import itertools
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.contracts.store_contract import NOON, Events, SettableClock, new_events
from tests.harness import forked_process
from tests.migration import fake_migrations

from claude_mem.model.errors import StoreError, StoreForeign, StoreTooNew, StoreTooOld
from claude_mem.model.memory import Findings
from claude_mem.store.sqlite import SqliteStore, database_files, schema
from claude_mem.store.sqlite.connection import open_writer

KNOWN = fake_migrations.MADE_UP
FIRST = schema.FIRST_RELEASE
NEWEST = schema.newest(KNOWN)
OLD = range(FIRST, NEWEST)

CHANGES = (
    "fsync",
    "fdatasync",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "ftruncate",
    "pwrite64",
)
SOME_KILLS = (("fdatasync", 1), ("rename", 1), ("fdatasync", 4), ("pwrite64", 20))

needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None, reason="needs strace to kill at a system call"
)

ROWS = """
INSERT INTO projects (id, key, name, root, remote, created_at, created_at_epoch)
VALUES (1, 'k', 'n', '/r', NULL, 't', 1);
INSERT INTO sdk_sessions (id, claude_session_id, project, project_id, status, client,
                          created_at, created_at_epoch, updated_at, updated_at_epoch)
VALUES (1, 's1', 'n', 1, 'active', 'c', 't', 1, 't', 1);
INSERT INTO user_prompts (session_id, prompt_number, prompt, created_at, created_at_epoch)
VALUES (1, 1, 'hello', 't', 1);
INSERT INTO pending_messages (event_id, session_id, kind, effect_key, prompt_number, state, created_at,
                              created_at_epoch, text)
VALUES ('e1', 1, 'prompt', 'k1', 1, 'ready', 't', 1, NULL),
       ('e2', 1, 'stop', 'k2', 1, 'ready', 't', 2, 'said');
INSERT INTO counters VALUES ('accepted', 2);
"""


@pytest.fixture(autouse=True)
def made_up_migrations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "migrations", lambda: KNOWN)
    monkeypatch.setattr(schema, "script", lambda: fake_migrations.FRESH)


def make_old(path: Path, version: int) -> Path:
    """A database as the release of this schema made it, with a little in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    schema.create(path, fake_migrations.RELEASED, FIRST)
    with closing(open_writer(path)) as db:
        for migration in KNOWN[: version - FIRST]:
            schema.apply(db, migration.sql, migration.version)
        db.executescript(ROWS)
    return path


def shape(path: Path) -> dict[str, Any]:
    """All that makes two databases the same to whoever uses them."""
    with closing(sqlite3.connect(path)) as db:
        entries = db.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
        ).fetchall()
        found: dict[str, Any] = {f"{kind} {name}": (table, _plain(sql)) for kind, name, table, sql in entries}
        for kind, name, _table, _sql in entries:
            if kind in ("table", "view"):
                found[f"columns of {name}"] = db.execute(f"PRAGMA table_xinfo({name})").fetchall()
                found[f"keys of {name}"] = sorted(db.execute(f"PRAGMA foreign_key_list({name})").fetchall())
            if kind == "index":
                found[f"columns of {name}"] = db.execute(f"PRAGMA index_xinfo({name})").fetchall()
        for pragma in (
            "application_id",
            "user_version",
            "journal_mode",
            "encoding",
            "page_size",
            "auto_vacuum",
        ):
            found[pragma] = db.execute(f"PRAGMA {pragma}").fetchone()
        found["figures"] = sorted(state for (state,) in db.execute("SELECT state FROM queue_figures"))
    return found


def _plain(sql: str | None) -> str:
    """As SQLite reads it: a column that was added is written down with other spaces than one of old."""
    without_comments = re.sub(r"--[^\n]*", "", sql or "")
    return re.sub(r" ?([(),]) ?", r"\1", " ".join(without_comments.split()))


def everything_in(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def open_store(path: Path) -> SqliteStore:
    return SqliteStore.open(path, clock=SettableClock(), backups=path.parent / "backups")


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    path = tmp_path / "fresh" / "claude-mem.db"
    open_store(path).close()
    return path


def assert_migrated(path: Path, fresh: Path) -> None:
    assert shape(path) == shape(fresh)
    with open_store(path) as store:
        assert store.recovered is None
        assert store.queue.figures().ready == 2
        lease = store.queue.lease(10)
        assert lease is not None
        assert [job.event.text for job in lease.jobs] == ["hello", "said"]
        store.queue.reclaim()


def test_the_fresh_schema_is_all_migrations_in_turn(tmp_path: Path, fresh: Path) -> None:
    migrated = make_old(tmp_path / "migrated.db", NEWEST)
    assert shape(migrated) == shape(fresh)


def test_the_fresh_schema_says_its_version(fresh: Path) -> None:
    assert shape(fresh)["user_version"] == (NEWEST,)


@pytest.mark.parametrize("version", OLD)
def test_an_old_database_becomes_the_fresh_one_and_keeps_its_rows(
    tmp_path: Path, fresh: Path, version: int
) -> None:
    path = make_old(tmp_path / "old" / "claude-mem.db", version)
    open_store(path).close()
    assert_migrated(path, fresh)


@pytest.mark.parametrize("version", OLD)
def test_a_backup_is_there_before_a_migration_begins(tmp_path: Path, version: int) -> None:
    path = make_old(tmp_path / "old" / "claude-mem.db", version)
    open_store(path).close()
    (backup,) = (path.parent / "backups").iterdir()
    assert backup.name == f"claude-mem-20251009-085320-pre-migration-{version}-to-{NEWEST}.db"
    with closing(sqlite3.connect(backup)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (version,)
        assert db.execute("SELECT COUNT(*) FROM pending_messages").fetchone() == (2,)


def test_a_migration_sees_the_rows_that_are_there(tmp_path: Path) -> None:
    path = make_old(tmp_path / "old" / "claude-mem.db", FIRST)
    open_store(path).close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT * FROM kinds_seen").fetchall() == [("prompt", 1), ("stop", 1)]


def test_a_database_of_the_first_release_becomes_the_fresh_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As development versions of the newest schema wrote it, too."""
    monkeypatch.undo()
    path = make_old(tmp_path / "old" / "claude-mem.db", FIRST)
    with open_store(path) as store:
        assert store.queue.figures().ready == 2
    assert (path.parent / "backups").exists() == bool(fake_migrations.REAL), (
        "nothing is done to what is current"
    )
    open_store(tmp_path / "new" / "claude-mem.db").close()
    assert shape(path) == shape(tmp_path / "new" / "claude-mem.db")


@pytest.mark.parametrize("version", [0, 1, FIRST - 1])
def test_a_database_from_before_the_first_release_is_not_touched(fresh: Path, version: int) -> None:
    with closing(open_writer(fresh)) as db:
        db.execute(f"PRAGMA user_version = {version}")
    before = everything_in(fresh.parent)
    with pytest.raises(StoreTooOld, match="Export it") as raised:
        open_store(fresh)
    assert (raised.value.found, raised.value.oldest) == (version, FIRST)
    assert everything_in(fresh.parent) == before


def test_a_lease_from_before_the_migration_is_dead(tmp_path: Path) -> None:
    path = make_old(tmp_path / "old" / "claude-mem.db", FIRST)
    with closing(open_writer(path)) as db:
        db.execute("UPDATE pending_messages SET state = 'leased', attempts = 1")
    with open_store(path) as store:
        assert store.queue.reclaim() == 2
        lease = store.queue.lease(10)
        assert lease is not None
        assert (lease.number, lease.attempt) == (1, 2)
        store.queue.settle(lease, Findings())
        assert store.queue.figures().done == 2


def test_an_up_to_date_database_is_not_backed_up_at_each_start(fresh: Path) -> None:
    open_store(fresh).close()
    assert [path.name for path in fresh.parent.iterdir()] == ["claude-mem.db"]


def test_only_the_last_backups_before_a_migration_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    for day in range(4):
        make_old(folder / "claude-mem.db", FIRST)
        clock = SettableClock(NOON + day * 86_400_000)
        SqliteStore.open(folder / "claude-mem.db", clock=clock, backups=folder / "backups").close()
    kept = sorted(path.name[:22] for path in (folder / "backups").iterdir())
    assert kept == ["claude-mem-20251011-08", "claude-mem-20251012-08"]


def test_a_migration_that_fails_leaves_the_version_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make_old(tmp_path / "old" / "claude-mem.db", NEWEST)
    broken = "CREATE TABLE half (x); INSERT INTO nowhere VALUES (1);"
    bad = schema.Migration(NEWEST + 1, "bad", broken)
    monkeypatch.setattr(schema, "migrations", lambda: (*KNOWN, bad))
    before = shape(path)
    with pytest.raises(StoreError, match="nowhere"):
        open_store(path)
    assert shape(path) == before


def migrate_and_be_killed(old: Path, fresh: Path, call: str, number: int) -> int | None:
    """The version at which the kill caught it, or None where it was done before that."""
    folder = old.parent.with_name("killed")
    shutil.copytree(old.parent, folder)
    path = folder / old.name
    killed = forked_process.killed_at(call, number, fake_migrations.open_and_close, path)
    found = database_files.read_header(path)
    assert found is not None
    with open_store(path) as store:
        assert store.recovered is None
    assert_migrated(path, fresh)
    kept = [one.name for one in (folder / "backups").iterdir()]
    assert all("pre-migration" in one or one.startswith(".claude-mem-draft-") for one in kept)
    shutil.rmtree(folder)
    return found.version if killed else None


@needs_strace
def test_a_migration_that_is_killed_is_finished_by_the_next_start(tmp_path: Path, fresh: Path) -> None:
    old = make_old(tmp_path / "old" / "claude-mem.db", FIRST)
    seen = {migrate_and_be_killed(old, fresh, *when) for when in SOME_KILLS} - {None}
    assert len(seen) > 1, "it was caught at several versions on the way"


@needs_strace
@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_a_migration_killed_anywhere_is_finished_by_the_next_start(tmp_path: Path, fresh: Path) -> None:
    old = make_old(tmp_path / "old" / "claude-mem.db", FIRST)
    seen = []
    for call in CHANGES:
        for number in itertools.count(1):
            version = migrate_and_be_killed(old, fresh, call, number)
            if version is None:
                break
            seen.append(version)
    assert len(seen) > 15
    assert set(seen) == set(range(FIRST, NEWEST + 1)), "it was caught at every version on the way"


def test_a_database_from_the_future_is_not_touched(fresh: Path) -> None:
    with closing(open_writer(fresh)) as db:
        db.execute("PRAGMA user_version = 99")
    before = everything_in(fresh.parent)
    with pytest.raises(StoreTooNew) as raised:
        open_store(fresh)
    assert (raised.value.found, raised.value.known) == (99, NEWEST)
    assert everything_in(fresh.parent) == before


def test_a_version_from_the_future_that_is_only_in_the_log_is_seen_and_not_touched(
    fresh: Path, tmp_path: Path
) -> None:
    """As a newer release killed in the middle leaves it."""
    left = tmp_path / "left"
    left.mkdir()
    with closing(open_writer(fresh)) as db:
        db.execute("CREATE TABLE later (x)")
        db.execute("PRAGMA user_version = 99")
        for name in ("claude-mem.db", "claude-mem.db-wal"):
            shutil.copy(fresh.with_name(name), left / name)
    before = everything_in(left)
    with pytest.raises(StoreTooNew):
        open_store(left / "claude-mem.db")
    assert everything_in(left) == before


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_somebody_elses_database_is_not_touched(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "theirs" / "claude-mem.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("CREATE TABLE sdk_sessions (id)")
        db.commit()
    path.chmod(0o644)
    before = everything_in(path.parent)
    with pytest.raises(StoreForeign):
        open_store(path)
    assert everything_in(path.parent) == before
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("content", [None, b""])
def test_no_file_and_an_empty_file_become_a_fresh_database(
    tmp_path: Path, fresh: Path, content: bytes | None
) -> None:
    path = tmp_path / "new" / "claude-mem.db"
    if content is not None:
        path.parent.mkdir()
        path.write_bytes(content)
    open_store(path).close()
    assert shape(path) == shape(fresh)


def test_a_database_without_tables_becomes_ours(tmp_path: Path, fresh: Path) -> None:
    path = tmp_path / "new" / "claude-mem.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = wal")
    assert path.stat().st_size > 0
    open_store(path).close()
    assert shape(path) == shape(fresh)


def test_a_log_without_its_database_is_not_played_into_a_fresh_one(fresh: Path) -> None:
    wal = fresh.with_name("claude-mem.db-wal")
    with open_store(fresh) as store:
        store.events.accept(new_events(Events().tool()))
        log = wal.read_bytes()
    fresh.unlink()
    wal.write_bytes(log)
    with open_store(fresh) as store:
        assert store.queue.figures().ready == 0
        assert store.recovered is None


def create_and_be_killed(folder: Path, fresh: Path, call: str, number: int) -> bool:
    folder.mkdir()
    path = folder / "claude-mem.db"
    killed = forked_process.killed_at(call, number, fake_migrations.open_and_close, path)
    with open_store(path) as store:
        assert store.recovered is None
    assert shape(path) == shape(fresh)
    assert [one.name for one in folder.iterdir()] == ["claude-mem.db"], "no draft is left"
    shutil.rmtree(folder)
    return killed


@needs_strace
def test_a_creation_that_is_killed_is_done_by_the_next_start(tmp_path: Path, fresh: Path) -> None:
    assert sum(create_and_be_killed(tmp_path / "killed", fresh, *when) for when in SOME_KILLS) > 1


@needs_strace
@pytest.mark.prove
@pytest.mark.timeout(1800)
def test_a_creation_killed_anywhere_is_done_by_the_next_start(tmp_path: Path, fresh: Path) -> None:
    kills = 0
    for call in CHANGES:
        for number in itertools.count(1):
            if not create_and_be_killed(tmp_path / "killed", fresh, call, number):
                break
            kills += 1
    assert kills > 20
