"""Filters, each alone."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.recall.cards import NOW, card

from claude_mem.model.refs import Filters
from claude_mem.recall.narrow import fits

ONE = card(
    7,
    concepts=("parsing", "dates"),
    files=("src/a.py",),
    branch="main",
    client="claude-code",
    superseded_by=9,
)


def test_no_filter_keeps_everything() -> None:
    assert fits(ONE, Filters())


@pytest.mark.parametrize(
    ("name", "kept", "left_out"),
    [
        ("project_id", 1, 2),
        ("kinds", ("summary", "observation"), ("summary",)),
        ("types", ("bugfix",), ("feature", "decision")),
        ("concepts", ("dates", "x"), ("x",)),
        ("file", "a.py", "b.py"),
        ("branch", "main", "dev"),
        ("session", "session-1", "session"),
        ("client", "claude-code", "cursor"),
        ("since", ONE.created_at, ONE.created_at + 1),
        ("until", ONE.created_at + 1, ONE.created_at),
        ("superseded", True, False),
    ],
)
def test_each_filter_keeps_its_own(name: str, kept: Any, left_out: Any) -> None:
    assert fits(ONE, Filters(**{name: kept}))
    assert not fits(ONE, Filters(**{name: left_out}))


def test_all_that_is_asked_for_must_hold() -> None:
    assert fits(ONE, Filters(types=("bugfix",), file="src/", branch="main", until=NOW))
    assert not fits(ONE, Filters(types=("bugfix",), file="src/", branch="dev", until=NOW))
