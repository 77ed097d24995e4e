"""When the team's server is called again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from claude_mem.model.clock import DAY_MS
from claude_mem.team import retry
from claude_mem.team.wire import TeamFailure

NOON = 1_760_000_000_000
SILENT = TeamFailure("It is silent.")


def wait(failure: TeamFailure, failures: int, jitter: float = 0.0) -> int:
    decision = retry.decide(failure, failures, NOON, jitter)
    assert isinstance(decision, retry.Again)
    return decision.until - NOON


def test_each_failure_is_followed_by_a_longer_wait_up_to_a_few_minutes() -> None:
    assert [wait(SILENT, number) for number in (1, 2, 3)] == [5_000, 10_000, 20_000]
    assert wait(SILENT, 1_000) == retry.LONGEST_MS


def test_a_server_says_itself_when_it_wants_to_be_called_within_reason() -> None:
    assert wait(TeamFailure("Busy.", status=429, retry_after="600"), 1) == 600_000
    assert wait(TeamFailure("Busy.", status=503, retry_after="999999"), 1) == retry.LONGEST_TOLD_MS
    assert wait(TeamFailure("Busy.", status=429, retry_after="soon"), 1) == 5_000


def test_a_key_that_is_not_accepted_is_not_tried_again_and_a_missing_scope_is() -> None:
    assert isinstance(retry.decide(TeamFailure("No.", status=401), 1, NOON, 0.0), retry.Stop)
    assert wait(TeamFailure("No.", status=403), 1) == 5_000


@given(st.integers(1, 10_000), st.floats(0, 1), st.text(max_size=8))
def test_no_wait_is_shorter_than_the_first_or_longer_than_it_may_be(
    failures: int, jitter: float, told: str
) -> None:
    took = wait(TeamFailure("No.", status=500, retry_after=told), failures, jitter)
    assert retry.FIRST_MS <= took <= retry.LONGEST_TOLD_MS * 1.5


def test_the_user_is_told_once_after_a_day() -> None:
    assert not retry.is_notice_due(None, NOON, noticed=False)
    assert not retry.is_notice_due(NOON, NOON + DAY_MS - 1, noticed=False)
    assert retry.is_notice_due(NOON, NOON + DAY_MS, noticed=False)
    assert not retry.is_notice_due(NOON, NOON + DAY_MS, noticed=True)
