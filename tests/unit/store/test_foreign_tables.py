"""Another program's database is read whole and left as it was, to the byte and to the last file beside it."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.harness.claude_mem_ts_data import made, typical
from tests.harness.home_snapshot import picture

from claude_mem.model.errors import StoreError
from claude_mem.store import foreign_tables


def titles(path: Path) -> list[object]:
    with foreign_tables.opened(path) as tables:
        return [row["title"] for row in tables.rows("observations", ("title", "no_such_column"))]


def test_what_is_only_in_its_log_is_read_and_nothing_beside_it_changes(tmp_path: Path) -> None:
    with made(tmp_path / "home" / "claude-mem.db") as their:
        their.session()
        their.observation("Only in the log")
        before = picture(tmp_path / "home")
        assert sorted(before) == ["claude-mem.db", "claude-mem.db-shm", "claude-mem.db-wal"]
        assert titles(their.path) == ["Only in the log"]
        assert picture(tmp_path / "home") == before
        their.observation("Its program goes on")
        assert titles(their.path) == ["Only in the log", "Its program goes on"]


def test_a_log_left_by_a_kill_is_read_and_stays(tmp_path: Path) -> None:
    with made(tmp_path / "live" / "claude-mem.db") as their:
        their.session()
        their.observation("Before the kill")
        home = tmp_path / "left"
        home.mkdir()
        for name in ("claude-mem.db", "claude-mem.db-wal"):
            (home / name).write_bytes((their.path.parent / name).read_bytes())
    before = picture(home)
    assert titles(home / "claude-mem.db") == ["Before the kill"]
    assert picture(home) == before


def test_one_without_a_log_gets_none(tmp_path: Path) -> None:
    path = typical(tmp_path / "home" / "claude-mem.db")
    before = picture(path.parent)
    assert list(before) == ["claude-mem.db"]
    assert len(titles(path)) == 2
    assert picture(path.parent) == before
    with closing(sqlite3.connect(path)) as db:  # as anybody else would read it
        db.execute("SELECT count(*) FROM observations").fetchone()
        assert picture(path.parent) != before


def test_it_may_lie_where_nothing_can_be_written(tmp_path: Path) -> None:
    path = typical(tmp_path / "home" / "claude-mem.db")
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert len(titles(path)) == 2
    finally:
        path.parent.chmod(0o700)


def test_a_link_to_it_is_followed_to_its_log(tmp_path: Path) -> None:
    with made(tmp_path / "home" / "claude-mem.db") as their:
        their.session()
        their.observation("In the log")
        (tmp_path / "link.db").symlink_to(their.path)
        assert titles(tmp_path / "link.db") == ["In the log"]


def test_tables_and_columns_that_are_not_there_are_empty(tmp_path: Path) -> None:
    with foreign_tables.opened(typical(tmp_path / "claude-mem.db")) as tables:
        assert tables.columns("no_such_table") == frozenset()
        assert tables.columns("observations_fts") == frozenset(), "an index is no table"
        assert list(tables.rows("no_such_table", ("id",))) == []
        assert list(tables.rows("observations", ("no_such_column",))) == []
        assert tables.count("no_such_table") == 0
        assert tables.count("observations") == 2


@pytest.mark.parametrize("content", [b"no database at all", b"SQLite format 3\0" + b"\xff" * 4096])
def test_what_is_no_database_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "claude-mem.db"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"claude-mem\.db"), foreign_tables.opened(path) as tables:
        tables.columns("observations")
    assert path.read_bytes() == content


def test_one_that_is_not_there_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(StoreError), foreign_tables.opened(tmp_path / "claude-mem.db"):
        pass
    assert list(tmp_path.iterdir()) == []
