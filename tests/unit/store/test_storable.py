"""Values as SQLite can hold them."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from claude_mem.store.sqlite.storable import Value, iso, storable


@given(st.none() | st.integers() | st.text(st.characters(exclude_categories=())))
def test_whatever_is_made_storable_comes_back_as_it_went_in(value: Value) -> None:
    kept = storable(value)
    with closing(sqlite3.connect(":memory:")) as db:
        assert db.execute("SELECT ?", (kept,)).fetchone() == (kept,)


@given(st.text() | st.integers(-(2**63) + 1, 2**63 - 1))
def test_what_is_storable_already_stays_as_it_is(value: Value) -> None:
    assert storable(value) == value


@pytest.mark.parametrize(
    ("epoch_ms", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_760_000_000_001, "2025-10-09T08:53:20.001Z"),
        (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        (2**80, "9999-12-31T23:59:59.999Z"),
        (-5, "1970-01-01T00:00:00.000Z"),
    ],
)
def test_instants_are_written_as_javascript_writes_them(epoch_ms: int, text: str) -> None:
    assert iso(epoch_ms) == text
