"""When the team's server is called again, and which forgets wait for the user's consent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from claude_mem.model.clock import DAY_MS
from claude_mem.model.errors import TeamFailure
from claude_mem.model.sharing import OwnLoss
from claude_mem.team import policy

NOON = 1_760_000_000_000
SILENT = TeamFailure("It is silent.")


def wait(failure: TeamFailure, failures: int, jitter: float = 0.0) -> int:
    decision = policy.decide(failure, failures, NOON, jitter)
    assert isinstance(decision, policy.Retry)
    return decision.until - NOON


def test_each_failure_is_followed_by_a_longer_wait_up_to_a_few_minutes() -> None:
    assert [wait(SILENT, number) for number in (1, 2, 3)] == [5_000, 10_000, 20_000]
    assert wait(SILENT, 1_000) == policy.LONGEST_MS


def test_a_server_says_itself_when_it_wants_to_be_called_within_reason() -> None:
    assert wait(TeamFailure("Busy.", status=429, retry_after="600"), 1) == 600_000
    assert wait(TeamFailure("Busy.", status=503, retry_after="999999"), 1) == policy.LONGEST_RETRY_AFTER_MS
    assert wait(TeamFailure("Busy.", status=429, retry_after="soon"), 1) == 5_000


def test_a_key_that_is_not_accepted_is_not_tried_again_and_a_missing_scope_is() -> None:
    assert isinstance(policy.decide(TeamFailure("No.", status=401), 1, NOON, 0.0), policy.Stop)
    assert wait(TeamFailure("No.", status=403), 1) == 5_000


@given(st.integers(1, 10_000), st.floats(0, 1), st.text(max_size=8))
def test_no_wait_is_shorter_than_the_first_or_longer_than_it_may_be(
    failures: int, jitter: float, told: str
) -> None:
    took = wait(TeamFailure("No.", status=500, retry_after=told), failures, jitter)
    assert policy.FIRST_MS <= took <= policy.LONGEST_RETRY_AFTER_MS * 1.5


def test_the_user_is_told_once_after_a_day() -> None:
    assert not policy.is_notice_due(None, NOON, noticed=False)
    assert not policy.is_notice_due(NOON, NOON + DAY_MS - 1, noticed=False)
    assert policy.is_notice_due(NOON, NOON + DAY_MS, noticed=False)
    assert not policy.is_notice_due(NOON, NOON + DAY_MS, noticed=True)


def held(*losses: tuple[str, int], there: int, before: int = 0) -> set[str]:
    own = {1: (there, before), 2: (1_000, 0)}
    return set(policy.held([OwnLoss(id, 1, count) for id, count in losses], own))


def test_a_few_forgets_and_many_of_a_large_project_are_carried_out() -> None:
    assert held(("f1", 100), there=100) == set()
    assert held(("f1", 150), ("f2", 50), there=1_000) == set()


def test_forgets_that_would_delete_much_of_a_project_all_wait() -> None:
    assert held(("f1", 1), ("f2", 100), there=200) == {"f1", "f2"}
    assert held(("f1", 201), there=1_000) == {"f1"}


def test_many_small_ones_count_together() -> None:
    assert held(("f1", 1), there=150, before=99) == set()
    assert held(("f1", 1), there=150, before=100) == {"f1"}


def test_another_projects_forgets_do_not_wait_for_it() -> None:
    losses = [OwnLoss("f1", 1, 101), OwnLoss("f2", 2, 5)]
    assert policy.held(losses, {1: (101, 0), 2: (1_000, 0)}) == {"f1"}
