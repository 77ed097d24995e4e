"""What kind of work a commit was, by its subject."""

from __future__ import annotations

import pytest

from claude_mem.model.memory import type_of_commit


@pytest.mark.parametrize(
    ("subject", "type"),
    [
        ("fix: the cart", "bugfix"),
        ("Fix the cart", "bugfix"),
        ("The cart no longer crashes", "bugfix"),
        ("Cart: avoid a crash", "bugfix"),
        ("feat(cart)!: empty it", "feature"),
        ("Add a cart", "feature"),
        ("refactor: split the cart", "refactor"),
        ("Rename the cart", "refactor"),
        ("perf(db): fewer queries", "refactor"),
        ("docs: the fix of the cart", "change"),
        ("chore: tidy", "change"),
        ("🐛 fix the cart", "bugfix"),
        ("[fix] the cart", "bugfix"),
        ("style: sort the imports", "change"),
        ("исправить корзину", "bugfix"),
        ("Fixture for carts", None),
        ("", None),
    ],
)
def test_a_subject_says_what_kind_of_work_it_was(subject: str, type: str | None) -> None:
    assert type_of_commit(subject) == type
