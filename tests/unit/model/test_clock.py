"""A moment is written to the millisecond, whenever it is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import example, given
from hypothesis import strategies as st

from claude_mem.model.clock import LAST_MS, iso


@given(st.integers(0, LAST_MS))
@example(LAST_MS)
def test_a_moment_can_be_read_back(epoch_ms: int) -> None:
    written = iso(epoch_ms)
    assert written.endswith("Z")
    passed = datetime.fromisoformat(written) - datetime(1970, 1, 1, tzinfo=UTC)
    assert passed == timedelta(milliseconds=epoch_ms)


def test_what_no_calendar_holds_is_the_nearest_that_one_does() -> None:
    assert (iso(-1), iso(LAST_MS + 1)) == ("1970-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z")
