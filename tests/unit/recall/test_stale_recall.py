"""No stale memory is shown as if it held: superseded, contradicted, about code that is gone or reverted."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.recall.recall_store import House
from tests.unit.recall.stale_histories import HISTORIES, Outcome, Scene, shown


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__)
def test_a_stale_memory_is_shown_with_a_mark_or_not_at_all(
    memory: House, history: Callable[[Scene], Outcome]
) -> None:
    outcome, found = shown(memory, history)
    assert [each for each in found if each.ref in outcome.stale and not each.marked] == []
    assert [each for each in found if each.ref in outcome.holds and each.marked] == []
    assert found, "nothing of it was found: the history proves nothing"
