"""What is to be done with a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_mem.model.errors import StoreForeign, StoreTooNew, StoreTooOld
from claude_mem.store.sqlite.database_files import DatabaseHeader
from claude_mem.store.sqlite.schema import (
    FIRST_RELEASE,
    Migration,
    load_migrations,
    require_readable,
)

KNOWN = tuple(Migration(FIRST_RELEASE + n, "abc"[n - 1], "") for n in (1, 2, 3))


def readable(found: DatabaseHeader | None) -> DatabaseHeader | None:
    return require_readable(Path("some.db"), found, KNOWN)


def test_nothing_is_created_whole() -> None:
    assert readable(None) is None


def test_a_database_without_tables_is_as_good_as_nothing() -> None:
    assert readable(DatabaseHeader(is_claude_mem=False, version=0, empty=True)) is None


def test_somebody_elses_tables_are_left_alone_whatever_version_they_claim() -> None:
    with pytest.raises(StoreForeign):
        readable(DatabaseHeader(is_claude_mem=False, version=2, empty=False))


@pytest.mark.parametrize("lacks", [0, 1, 2, 3])
def test_an_older_database_is_brought_up_to_date(lacks: int) -> None:
    found = DatabaseHeader(is_claude_mem=True, version=FIRST_RELEASE + 3 - lacks, empty=False)
    assert readable(found) == found


@pytest.mark.parametrize("version", [0, 1, FIRST_RELEASE - 1])
def test_a_database_from_before_the_first_release_is_left_alone(version: int) -> None:
    with pytest.raises(StoreTooOld):
        readable(DatabaseHeader(is_claude_mem=True, version=version, empty=False))


def test_a_database_from_the_future_is_left_alone() -> None:
    with pytest.raises(StoreTooNew):
        readable(DatabaseHeader(is_claude_mem=True, version=FIRST_RELEASE + 4, empty=False))


def test_migrations_are_read_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "0012_b.sql").write_text("two")
    (tmp_path / "0011_a.sql").write_text("one")
    assert load_migrations(tmp_path) == (Migration(11, "a", "one"), Migration(12, "b", "two"))


@pytest.mark.parametrize("name", ["0013_gap.sql", "0011_twice.sql", "0001_old.sql", "second.sql"])
def test_a_gap_a_twin_or_an_odd_name_among_the_migrations_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "0011_a.sql").write_text("one")
    (tmp_path / name).write_text("odd")
    with pytest.raises(ValueError, match="0011"):
        load_migrations(tmp_path)
